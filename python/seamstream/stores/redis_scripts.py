"""The Lua scripts of the Redis backend. Each is one atomic change; `now` is the server's clock in ms."""

from __future__ import annotations

from typing import Final

_NOW: Final = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"

# KEYS: record, index of keys, revision counter, when keys expire.
# ARGV: revision (-1: any), time to live in ms (-1: none), how many expired keys to forget, key, value.
# Redis removes records that expire, but not their names. Indexes of nothing but those expire with the last.
SET: Final = (
    _NOW
    + """
local found = redis.call('HGET', KEYS[1], 'r') or '0'
if ARGV[1] ~= '-1' and ARGV[1] ~= found then return false end
local revision = redis.call('INCR', KEYS[3])
redis.call('HSET', KEYS[1], 'v', ARGV[5], 'r', revision)
redis.call('ZADD', KEYS[2], 0, ARGV[4])
if ARGV[2] == '-1' then
    redis.call('PERSIST', KEYS[1])
    redis.call('ZREM', KEYS[4], ARGV[4])
else
    redis.call('PEXPIREAT', KEYS[1], now + ARGV[2])
    redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[4])
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', '(' .. now, 'LIMIT', 0, ARGV[3])) do
    redis.call('ZREM', KEYS[2], name)
    redis.call('ZREM', KEYS[4], name)
end
local latest = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
local all_expire = redis.call('ZCARD', KEYS[2]) == redis.call('ZCARD', KEYS[4])
for index = 2, 4, 2 do
    if all_expire then
        redis.call('PEXPIREAT', KEYS[index], latest[2])
    else
        redis.call('PERSIST', KEYS[index])
    end
end
return revision
"""
)

# KEYS: record, index of keys, when keys expire. ARGV: revision (-1: any), key.
DELETE: Final = """
local found = redis.call('HGET', KEYS[1], 'r')
if not found or (ARGV[1] ~= '-1' and ARGV[1] ~= found) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
return redis.call('DEL', KEYS[1])
"""

# KEYS: stream, incarnation, revision counter.
# ARGV: last number (-1: any), time to live in ms (-1: as it was), values.
APPEND: Final = """
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local last = 0
if newest[1] then last = tonumber(string.match(newest[1][1], '^%d+')) end
if ARGV[1] ~= '-1' and tonumber(ARGV[1]) ~= last then return false end
if not ARGV[3] then return last end
if last == 0 then redis.call('SET', KEYS[2], redis.call('INCR', KEYS[3])) end
for i = 3, #ARGV do
    last = last + 1
    redis.call('XADD', KEYS[1], last .. '-0', 'v', ARGV[i])
end
if ARGV[2] ~= '-1' then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return last
"""

# KEYS: stream, incarnation. ARGV: the number after which to read, how many entries at most.
# Answers the incarnation, the last number and the entries, all of one moment.
PAGE_OF: Final = """
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
if not newest[1] then return {false, 0, {}} end
local rows = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+', 'COUNT', ARGV[2])
return {redis.call('GET', KEYS[2]), tonumber(string.match(newest[1][1], '^%d+')), rows}
"""

# KEYS: stream, incarnation.
DROP: Final = "return redis.call('DEL', KEYS[1], KEYS[2])"

# KEYS of all below: due times, bodies, claims (token and deliveries), bell.
# ARGV: id, body, delay in ms.
ENQUEUE: Final = (
    _NOW
    + """
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'v', '')
return 1
"""
)

# ARGV: lease in ms, token. Answers the job, the ms until the next is due (-1: none), and the bell's last id.
CLAIM: Final = (
    _NOW
    + """
local rung = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
local bell = rung[1] and rung[1][1] or '0-0'
local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if not next[1] then return {false, -1, bell} end
if tonumber(next[2]) > now then return {false, tonumber(next[2]) - now, bell} end
redis.call('ZADD', KEYS[1], now + ARGV[1], next[1])
local claim = redis.call('HGET', KEYS[3], next[1]) or '0'
local deliveries = tonumber(string.match(claim, '^%d+')) + 1
redis.call('HSET', KEYS[3], next[1], deliveries .. ' ' .. ARGV[2])
return {{next[1], redis.call('HGET', KEYS[2], next[1]), deliveries}, 0, bell}
"""
)

_OWNED: Final = (
    _NOW
    + """
local claim = redis.call('HGET', KEYS[3], ARGV[1])
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not claim or not due or tonumber(due) <= now then return 0 end
if string.match(claim, ' (.*)$') ~= ARGV[2] then return 0 end
"""
)

# ARGV: id, token.
ACK: Final = (
    _OWNED
    + """
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
"""
)

# ARGV: id, token, ms until it is due again, whether the claim is kept.
DUE_AGAIN: Final = (
    _OWNED
    + """
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
if ARGV[4] == '0' then
    redis.call('HSET', KEYS[3], ARGV[1], string.match(claim, '^%d+') .. ' ')
    redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'v', '')
end
return 1
"""
)
