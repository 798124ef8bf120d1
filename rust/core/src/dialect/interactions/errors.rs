//! Gemini Interactions: errors.

use crate::cursor::Cursor;
use crate::delta::Failure;
use crate::dialect::gemini::status_of;
use crate::dialect::objects::members;

/// Codes are names here; gateways put the number of `generateContent` there.
pub(super) fn read_error(raw: &[u8]) -> Failure {
    let (mut failure, mut code) = (Failure::default(), b"".as_slice());
    members(raw, |key, cursor| match key {
        b"code" => code = cursor.skip(),
        b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
        b"status" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
        _ => {
            cursor.skip();
        }
    });
    if let Some(name) = Cursor::new(code).string() {
        failure.kind = name.into_owned();
    }
    failure.code.clone_from(&failure.kind);
    let number = std::str::from_utf8(code).ok().and_then(|digits| digits.parse().ok());
    failure.status = number.or_else(|| status_of(&failure.kind.to_uppercase()));
    failure
}
