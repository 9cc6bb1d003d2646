/**
 * The script that is the bulkhead: every change to one is one call of it, so each is atomic, and whatever waits in Redis is looked
 * at again by each of them.
 *
 * Time is the server's, in ms, and never goes back: a clock that was set back is made good for by `shift`. A call does a bounded
 * amount of work (`batch`). The ticket of a waiter and the fence of a grant are both at least `1024 * ms` of the server's clock, so
 * they go on rising when Redis has lost its data, and stay below 2^53 until the year 2248.
 *
 * @module
 */
import { defaultPrefix } from "./keys.ts";

/** How a script's text differs from the ordinary one. */
export interface ScriptOptions {
  /** See `keysOf`. */
  readonly prefix?: string;
  /** For tests: the clock's ms are the last argument of each call, and not the server's. */
  readonly injectClock?: boolean;
  /** For tests: what happened is written to the stream of this name. */
  readonly log?: string;
  /** Most holders or waiters that one call ends, and most that it grants; 64 when absent. */
  readonly batch?: number;
}

const serverClock = `local t = call('TIME')
local wall, micros = t[1] * 1000 + math.floor(t[2] / 1000), t[2] % 1000`;
const injectedClock = `local wall, micros = tonumber(ARGV[#ARGV]), 0`;

/**
 * The main script. Its keys are those of `keysOf`; its first argument is what to do, the second the host. What each operation takes
 * and answers is told in `operations.ts`.
 */
export function mainScript(options: ScriptOptions = {}): string {
  const { prefix = defaultPrefix, injectClock = false, log, batch = 64 } = options;
  const note = (fields: string) =>
    log === undefined
      ? ""
      : `call('XADD', '${log}', '*', 'at', int(wall), 'name', name, ${fields}, 'used', used, 'limit', limit)`;
  return `local call, format, match = redis.call, string.format, string.match
local M, H, Q, D, W, A = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local op, host = ARGV[1], ARGV[2]
local name = match(M, '{(.-)}')
-- tostring() would round what has more than 14 digits.
local function int(n) return format('%.0f', n) end
${injectClock ? injectedClock : serverClock}

local saved = call('HMGET', M, 'limit', 'used', 'seq', 'fence', 'at', 'shift', 'next', 'epoch', 'keep', 'kept')
local limit, used, seq, fence = tonumber(saved[1] or 0), tonumber(saved[2] or 0), tonumber(saved[3] or 0), tonumber(saved[4] or 0)
local at, shift, soonest = tonumber(saved[5] or 0), tonumber(saved[6] or 0), tonumber(saved[7] or 0)
local epoch, keep, kept = saved[8], tonumber(saved[9] or 60000), tonumber(saved[10] or 0)
local now = wall + shift
if now < at then shift, now = shift + at - now, at end
local touch = now - kept > 5000
if not epoch then
  -- Without it the rest is of no use: hosts claim again what they hold.
  epoch, touch = host .. '-' .. int(wall), true
  call('UNLINK', H, Q, D, W)
end

local function keepFor(lease)
  if lease + 60000 > keep then keep, touch = lease + 60000, true end
end
local function soon(moment)
  if moment < soonest then soonest = moment end
end
local function record(id)
  local r = call('HGET', W, id)
  if not r then return 1, 5000, 0, 0 end
  local w, lease, a, b = match(r, '^(%d+) (%d+) (%d+) (%d+)$')
  return tonumber(w), tonumber(lease), tonumber(a), tonumber(b)
end
local function fits(w)
  if used + w > limit and used > 0 and call('ZCARD', H) == 0 then used = 0 end
  return used + w <= limit
end

local function hold(id, w, lease, token)
  keepFor(lease)
  if used == 0 then touch = true end
  used = used + w
  call('ZADD', H, int(now + lease), id)
  call('HSET', W, id, int(w) .. ' ' .. int(lease) .. ' ' .. int(token) .. ' 0')
  soon(now + lease)
end
local function nextFence()
  -- With the microseconds it is above all of the same millisecond, too, should they have been lost meanwhile.
  fence = math.max(fence + 1, now * 1024 + micros)
  return fence
end
local function extend(id, lease)
  call('ZADD', H, 'XX', int(now + lease), id)
  soon(now + lease)
end
local function letGo(id, why)
  if call('ZREM', H, id) == 0 then return 0 end
  local w = record(id)
  used = math.max(used - w, 0)
  call('HDEL', W, id)
  ${note("'what', why, 'id', id, 'w', w")}
  return 1
end
local function unqueue(id)
  if call('ZREM', Q, id) == 0 then return 0 end
  call('ZREM', D, id)
  call('HDEL', W, id)
  return 1
end

-- Ends what is over. The earliest such moment is remembered, so mostly there is nothing to look for.
local function reap()
  if now < soonest then return end
  local over = call('ZRANGEBYSCORE', H, '-inf', int(now), 'LIMIT', 0, ${batch})
  for _, id in ipairs(over) do letGo(id, 'lost') end
  if #over > 0 then call('HINCRBY', M, 'lost', #over) end
  for _, id in ipairs(call('ZRANGEBYSCORE', D, '-inf', int(now), 'LIMIT', 0, ${batch})) do
    unqueue(id)
    ${note("'what', 'given up', 'id', id, 'w', 0")}
  end
  soonest = now + 3600000
  local h = call('ZRANGE', H, 0, 0, 'WITHSCORES')
  if h[2] then soon(tonumber(h[2])) end
  local d = call('ZRANGE', D, 0, 0, 'WITHSCORES')
  if d[2] then soon(tonumber(d[2])) end
end

local function ring(id, token)
  call('PUBLISH', '${prefix}host:' .. match(id, '^[^.]+'), name .. ' ' .. id .. ' ' .. int(token))
end
local shrunk = false
local function setLimit(n)
  shrunk = n < limit
  limit = n
end
-- Permits go to the oldest waiter or to nobody. The grant is recorded first; the message only rings the bell.
local function grant()
  for _ = 1, ${batch} do
    if used >= limit and not shrunk and not fits(1) then return end
    local id = call('ZRANGE', Q, 0, 0)[1]
    if not id then return end
    local w, lease = record(id)
    if tonumber(call('ZSCORE', D, id) or 0) <= now then
      unqueue(id)
      ${note("'what', 'given up', 'id', id, 'w', 0")}
    elseif w > limit then
      -- The limit has shrunk since it came: it would wait for ever, and all behind it.
      unqueue(id)
      ${note("'what', 'too heavy', 'id', id, 'w', 0")}
      ring(id, -1)
    elseif fits(w) then
      ${log === undefined ? "" : "local ticket = call('ZSCORE', Q, id)"}
      call('ZREM', Q, id)
      call('ZREM', D, id)
      local token = nextFence()
      hold(id, w, lease, token)
      ${note("'what', 'grant', 'id', id, 'w', w, 'fence', int(token), 'ticket', ticket")}
      ring(id, token)
    else
      return
    end
  end
  soonest = now
end

local function untilNext()
  local h = call('ZRANGE', H, 0, 0, 'WITHSCORES')
  if not h[2] then return -1 end
  return math.max(tonumber(h[2]) - now, 0)
end
-- What a host that has waiters must know to come back in time; 0 when there is more to do at once.
local function due()
  if call('EXISTS', Q) == 0 then return -1 end
  if soonest <= now then return 0 end
  return untilNext()
end
local function join(ms)
  if ms == 0 then return 0 end
  call('ZADD', A, int(now + ms), host)
  call('ZREMRANGEBYSCORE', A, '-inf', int(now))
  call('PEXPIRE', A, int(ms * 2))
  return call('ZCARD', A)
end

local ops = {}

function ops.acquire()
  local id, w, lease, wait, most = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
  if ARGV[9] == '1' or limit == 0 then setLimit(tonumber(ARGV[8])) end
  reap()
  grant()
  local members = join(tonumber(ARGV[13]))
  if ARGV[10] == '1' then
    if call('ZSCORE', H, id) then
      local _, _, token = record(id)
      extend(id, lease)
      return { 1, int(token), 0, -1, epoch, members }
    end
    local ticket = call('ZSCORE', Q, id)
    if ticket then return { 2, ticket, call('ZRANK', Q, id), due(), epoch, members } end
  end
  if w > limit then return { 4, int(limit), 0, -1, epoch, members } end
  local behind = call('ZCARD', Q)
  if behind == 0 and fits(w) then
    local token = nextFence()
    hold(id, w, lease, token)
    ${note("'what', 'grant', 'id', id, 'w', w, 'fence', int(token), 'ticket', '0'")}
    return { 1, int(token), 0, -1, epoch, members }
  end
  if wait == 0 then return { 0, '0', behind, untilNext(), epoch, members } end
  if most >= 0 and behind >= most then return { 3, '0', behind, untilNext(), epoch, members } end
  local ticket = tonumber(ARGV[11])
  seq = math.max(seq + 1, now * 1024)
  if ticket == 0 then ticket = seq else seq = math.max(seq, ticket) end
  local silence = now + tonumber(ARGV[12])
  local deadline = wait < 0 and 0 or now + wait
  local over = (deadline == 0 or silence < deadline) and silence or deadline
  keepFor(silence - now)
  if behind == 0 then touch = true end
  call('ZADD', Q, int(ticket), id)
  call('ZADD', D, int(over), id)
  call('HSET', W, id, int(w) .. ' ' .. int(lease) .. ' ' .. int(deadline) .. ' ' .. int(now))
  soon(over)
  ${note("'what', 'queue', 'id', id, 'w', w, 'ticket', int(ticket)")}
  return { 2, int(ticket), call('ZRANK', Q, id), due(), epoch, members }
end

-- Ends a wait, whatever has come of it: still in line, or granted while this was on its way.
function ops.leave()
  local id, status, value = ARGV[3], 0, 0
  reap()
  if unqueue(id) == 1 then
    ${note("'what', 'left', 'id', id, 'w', 0")}
    status = 1
  elseif call('ZSCORE', H, id) then
    if ARGV[4] == '1' then
      local _, lease, token = record(id)
      extend(id, lease)
      status, value = 2, token
    else
      letGo(id, 'release')
      status = 3
    end
  end
  grant()
  return { status, int(value), epoch }
end

function ops.release()
  reap()
  local answer = { epoch }
  for i = 3, ${injectClock ? "#ARGV - 1" : "#ARGV"} do answer[#answer + 1] = letGo(ARGV[i], 'release') end
  grant()
  return answer
end

-- Says of each whether it holds, waits or is gone, and lets those that are there stay. It brings nothing back.
function ops.beat()
  local silence = tonumber(ARGV[3])
  reap()
  grant()
  join(tonumber(ARGV[4]))
  local members = call('ZCARD', A)
  local answer = { 0, epoch, members }
  for i = 5, ${injectClock ? "#ARGV - 1" : "#ARGV"} do
    local id, status, value = ARGV[i], 0, 0
    local ends = tonumber(call('ZSCORE', H, id) or 0)
    if ends > now then
      local _, lease, token = record(id)
      extend(id, lease)
      status, value = 1, token
    elseif ends == 0 and call('ZSCORE', Q, id) then
      local _, _, deadline = record(id)
      local over = now + silence
      if deadline > 0 and deadline < over then over = deadline end
      call('ZADD', D, 'XX', int(over), id)
      soon(over)
      status = 2
    end
    answer[#answer + 1] = status
    answer[#answer + 1] = int(value)
  end
  answer[1] = due()
  return answer
end

function ops.tick()
  reap()
  grant()
  return { due(), epoch }
end

-- Claims again what was granted before Redis lost its data, as far as there is room for it.
function ops.adopt()
  if limit == 0 then limit = tonumber(ARGV[3]) end
  reap()
  local answer = { epoch }
  for i = 4, ${injectClock ? "#ARGV - 1" : "#ARGV"}, 6 do
    local id, w, lease, token = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
    local status = 0
    if call('ZSCORE', H, id) then
      extend(id, lease)
      status = 1
    elseif ARGV[i + 4] ~= epoch and (ARGV[i + 5] == '1' or fits(w)) then
      unqueue(id)
      fence = math.max(fence, token)
      hold(id, w, lease, token)
      ${note("'what', 'adopt', 'id', id, 'w', w, 'fence', int(token), 'forced', ARGV[i + 5]")}
      status = 1
    end
    answer[#answer + 1] = status
  end
  grant()
  return answer
end

function ops.limit()
  setLimit(tonumber(ARGV[3]))
  ${note("'what', 'limit', 'id', '', 'w', 0")}
  reap()
  grant()
  return { due(), epoch }
end

local answer = ops[op]()
call('HSET', M, 'limit', int(limit), 'used', int(used), 'seq', int(seq), 'fence', int(fence), 'at', int(now),
  'shift', int(shift), 'next', int(soonest), 'epoch', epoch, 'keep', int(keep), 'kept', touch and int(now) or int(kept))
if touch then
  for i = 1, 5 do call('PEXPIRE', KEYS[i], int(keep)) end
end
return answer
`;
}

/** What a bulkhead looks like: `limit active holders queued oldest`, or nothing. Changes nothing, so a replica can run it. */
export function countsScript(options: ScriptOptions = {}): string {
  return `#!lua flags=no-writes
local call = redis.call
local M, H, Q, W = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local saved = call('HMGET', M, 'limit', 'used', 'at', 'shift', 'epoch')
if not saved[5] then return {} end
${options.injectClock ? injectedClock : serverClock}
local now = math.max(wall + tonumber(saved[4]), tonumber(saved[3]))
local active, holders = tonumber(saved[2]), call('ZCARD', H)
for _, id in ipairs(call('ZRANGEBYSCORE', H, '-inf', string.format('%.0f', now), 'LIMIT', 0, 1000)) do
  active = active - tonumber(string.match(call('HGET', W, id) or '1', '^%d+'))
  holders = holders - 1
end
if holders == 0 then active = 0 end
local oldest, head = 0, call('ZRANGE', Q, 0, 0)[1]
if head then
  local since = string.match(call('HGET', W, head) or '', '(%d+)$')
  if since then oldest = math.max(now - tonumber(since), 0) end
end
return { tonumber(saved[1]), active, holders, call('ZCARD', Q), oldest }
`;
}
