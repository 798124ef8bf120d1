"""A live aiohttp response of which a run's driver has taken hold, without a task while nothing is cut.

aiohttp's parser feeds the reader, and the driver's intake transforms each chunk on the way. When something
needs the driver's attention its generator is run from the event loop; what it can do at once (bytes, ends) is
done there, and the first effect that needs waiting starts the one pump task that performs the rest and feeds
the same reader.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import ClientResponse

from .alarm import Alarm
from .clock import TimerHandle
from .driver.guard import WHOLE
from .effects import (
    DONE,
    LOOKED,
    TIMED_OUT,
    Broke,
    Close,
    Effect,
    Emit,
    Fail,
    Finish,
    Forget,
    Put,
    Read,
    Result,
)
from .pump import Pump
from .runner import AsyncRunner
from .tap_state import TapState
from .transports import aiohttp_internals as internals
from .transports.aiohttp import REUSE_GRACE_S
from .unreferenced import drop_frames, weakly


class Tap:
    """Watches one response. Nothing here may raise into aiohttp's parser."""

    def __init__(self, response: ClientResponse, runner: AsyncRunner) -> None:
        self._runner = runner
        self._intake = runner.driver.intake
        self._clock = runner.driver.clock
        self._alarm = Alarm(self._clock, self._intake, weakly(self._timer_due))
        self._state = TapState.LIVE
        self._ended = False
        """The body of attempt 1 is over, cleanly or by `_error`."""
        self._error: BaseException | None = None
        self._soon: asyncio.Handle | None = None
        self._linger: TimerHandle | None = None
        self._pump: Pump | None = None
        self._protocol = internals.protocol_of(response)
        self._unwatch = internals.watch_close(self._protocol, weakly(self._connection_gone))
        self._intake.wake, self._intake.rearm = weakly(self._attend_soon), self._alarm.arm
        self._body = internals.TappedBody(response, self._intake.receive, self)
        self._begin(response)

    def _begin(self, response: ClientResponse) -> None:
        """Take in what came together with the head, which may be all, or already broken."""
        body = self._body
        was_over, error = body.ended or body.error is not None, body.error
        if body.paused:
            self.reading_paused()
        body.push(self._intake.receive(body.take_received()))
        if not was_over:
            body.resume()
            self._alarm.arm()
            self._attend()
            return
        self._ended, self._error = True, error
        if error is not None or not self._intake.attention:
            body.reopen(response)
        self._attend()

    # ------------------------------------------------------------ what aiohttp tells

    def body_ended(self) -> None:
        self._ended = True
        if self._state is TapState.LIVE:
            self._attend_soon()
        elif self._state is TapState.ENDING:
            self._end()
        else:
            self._settle_upstream()

    def body_broke(self, error: BaseException) -> None:
        if self._state is TapState.LIVE and not self._ended:
            self._ended, self._error = True, error
            drop_frames(error)
            self._attend_soon()
        elif self._state is TapState.ENDING:
            self._give_connection_up()
        elif self._state is TapState.ENDED:
            self._drop_upstream()

    def reader_left(self) -> None:
        if self._state is TapState.LIVE and self._intake.flags & WHOLE:
            self._attend()
        if self._state is TapState.ENDING:
            self._state = TapState.ENDED
        elif self._state in (TapState.LIVE, TapState.PUMPING):
            self._leave()

    def connection_left(self, *, close: bool) -> None:
        upstream = self._body.lease.upstream
        if self._state in (TapState.ENDING, TapState.ENDED):
            self._state = TapState.ENDED
            if close:
                self._drop_upstream()
            else:
                self._settle_upstream()
            return
        self._leave()
        self._body.lease.upstream = None
        if upstream is not None:
            self._unwatch()
            if close:
                upstream.close()
            else:
                upstream.release()

    def reading_paused(self) -> None:
        self._intake.timers.pause(self._clock.monotonic())
        if self._pump is not None:
            self._pump.set_paused(True)

    def reading_resumed(self) -> None:
        self._intake.timers.resume(self._clock.monotonic())
        if self._pump is not None:
            self._pump.set_paused(False)
        elif self._state is TapState.LIVE:
            self._alarm.arm()

    def _connection_gone(self, *_: Any) -> None:
        """The connection was closed; the body's own end, if it has one, was told before."""
        if self._state is TapState.ENDED:
            self._drop_upstream()
        elif self._state is TapState.LIVE and not self._ended:
            self.body_broke(ConnectionResetError("the connection was closed in the middle of the body"))

    # ------------------------------------------------------------ running the driver

    def _attend_soon(self) -> None:
        """Later in the loop: the parser is not to be interrupted, and only then is known why a connection
        broke.
        """
        if self._soon is None and self._state is TapState.LIVE:
            self._soon = asyncio.get_running_loop().call_soon(self._attend)

    def _attend(self) -> None:
        self._soon = None
        while self._state is TapState.LIVE:
            if self._intake.attention:
                self._advance(LOOKED)
            elif self._ended:
                self._advance(Broke(internals.end_of_body(self._error, self._protocol), self._error))
            else:
                return

    def _timer_due(self) -> None:
        if self._state is TapState.LIVE:
            self._advance(TIMED_OUT)

    def _advance(self, result: Result) -> None:
        """Run the generator until it wants to read again, to wait, or is over."""
        try:
            while not isinstance(effect := self._runner.steps.send(result), Read):
                if not self._perform(effect):
                    self._start_pump(effect)
                    return
                result = DONE
            if self._state is TapState.LIVE:
                self._alarm.arm()
        except StopIteration:
            self._stop()
        except Exception as error:
            self.take(Fail(error))
            told = {"message": "seamstream failed to go on with a stream", "exception": error}
            asyncio.get_running_loop().call_exception_handler(told)

    def _perform(self, effect: Effect) -> bool:
        """Do what needs no waiting; False when it does."""
        if isinstance(effect, Emit | Finish | Fail):
            self.take(effect)
        elif isinstance(effect, Close):
            if not effect.reuse:
                self._drop_upstream()
        elif isinstance(effect, Put | Forget):
            self._runner.store_soon(effect)
        else:
            return False
        return True

    def take(self, effect: Effect) -> None:
        """Give the reader what the driver has for it."""
        if self._state is TapState.LEFT:
            return
        if isinstance(effect, Emit):
            self._body.push(effect.data)
            return
        self._alarm.stop()
        if isinstance(effect, Fail):
            self._state = TapState.ENDED
            self._body.fail(effect.error)
        elif self._ended or self._body.lease.upstream is None:
            self._end()
        else:
            self._state = TapState.ENDING
            self._linger = self._clock.call_later(REUSE_GRACE_S, self._give_connection_up)

    def _end(self) -> None:
        """The reader's end; aiohttp then lets go of the connection, which comes back as `connection_left`."""
        self._state = TapState.ENDED
        self._body.end()

    def _give_connection_up(self) -> None:
        """The body did not end in time, or not well: the reader has had its answer all the same."""
        self._drop_upstream()
        if self._state is TapState.ENDING:
            self._end()

    def _start_pump(self, effect: Effect) -> None:
        self._drop_upstream()
        self._state = TapState.PUMPING
        self._stop()
        self._pump = Pump(self, self._runner, paused=self._body.paused)
        self._pump.start(effect)

    def _leave(self) -> None:
        """The reader has left: upstream, timers and the run end with it."""
        if self._state is TapState.LEFT:
            return
        pumping, self._state = self._state is TapState.PUMPING, TapState.LEFT
        self._stop()
        if pumping and self._pump is not None:
            self._pump.cancel()
        else:
            self._runner.cancel()
        if self._runner.saver is not None:
            self._runner.saver.cancel()

    def _stop(self) -> None:
        """Nothing of the run may come back to this object by itself any more."""
        self._alarm.stop()
        self._intake.wake = self._intake.rearm = _nothing
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    # ------------------------------------------------------------ attempt 1's connection

    def _drop_upstream(self) -> None:
        """Close it at once: the next request may need its place in the connector."""
        upstream, self._body.lease.upstream = self._body.lease.upstream, None
        self._cancel_linger()
        self._unwatch()
        self._body.detach_upstream()
        if upstream is not None:
            upstream.close()

    def _settle_upstream(self) -> None:
        """The answer is whole: keep the connection for the next request if its body ends in time."""
        upstream = self._body.lease.upstream
        if upstream is None:
            return
        if not self._ended:
            return  # the reader left in its last moment; `_linger` is set
        self._body.lease.upstream = None
        self._cancel_linger()
        self._unwatch()
        internals.stop_read_timeout(self._protocol)
        upstream.release()

    def _cancel_linger(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None


def _nothing() -> None:
    return None
