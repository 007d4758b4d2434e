import { createHash } from 'node:crypto';
import type { LuaScript } from './link.ts';

const lua = (text: string): LuaScript => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/** Changes when another server answers, or the same one was restarted; in Lua here and in TypeScript in server-info.ts. */
const RUN_ID = `
local function runId()
  local info = redis.call('INFO', 'server')
  return string.match(info, 'run_id:(%w+)') or 'process ' .. (string.match(info, 'process_id:(%w+)') or 'unknown')
end
-- A program of before writes the term alone: then nobody knows.
local function isOpenElsewhere(term, opened)
  local openTerm, server = string.match(opened or '', '^(%d+) (.+)$')
  return openTerm ~= nil and openTerm == term and server ~= runId()
end
`;

/** Whether a key holds a value of another type than `command` expects: not written by this operator, and it makes our commands fail. */
const FOREIGN = `
local function isForeign(command, key)
  local reply = redis.pcall(command, key)
  return type(reply) == 'table' and reply.err ~= nil and string.find(reply.err, 'WRONGTYPE') ~= nil
end
local function tidy(command, key)
  if not isForeign(command, key) then return false end
  redis.call('DEL', key)
  return true
end
local function termIn(key)
  local term = redis.call('HGET', key, 'term') or ''
  return string.match(term, '^%d+$') and #term <= 12 and tonumber(term) or nil
end
`;

/** KEYS meta. ARGV term. 1 when the term is open now, 0 when a higher one is. The server is stored with the term; earlier versions write only the term. */
export const OPEN_TERM = lua(`${RUN_ID}${FOREIGN}
tidy('HLEN', KEYS[1])
local open = termIn(KEYS[1])
if open and open > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'term', ARGV[1], 'format', '1', 'opened', ARGV[1] .. ' ' .. runId())
return 1
`);

/** One atomic write of one cell: checks everything first, and writes only once nothing can fail. Foreign values under our keys are removed, and count as lost.
 *  KEYS meta, cells, records, heads, outbox, seen, journal, then the claims of each provider.
 *  ARGV term, cell, length of the journal, 1 to overwrite data kept by another server, then seven lists, each preceded by its length:
 *  records (actor, expected version, version, waiting, record; version 0 deletes), commands to add (id, command), commands to clear (id),
 *  sends (sender, id; no id forgets the sender), journal entries, claims to free (key, node, owner), claims to take (key, node, owner, limit).
 *  A head is "<version> <waiting>", so that neither the version check nor the fence reads the record itself. */
export const SAVE = lua(`${RUN_ID}${FOREIGN}
local meta, cells, records, heads, outbox, seen, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local at = 4
local function list(width)
  at = at + 1
  local first, count = at + 1, tonumber(ARGV[at])
  at = at + count * width
  return first, first + (count - 1) * width
end
local recordFirst, recordLast = list(5)
local addFirst, addLast = list(2)
local clearFirst, clearLast = list(1)
local sendFirst, sendLast = list(2)
local entryFirst, entryLast = list(1)
local freeFirst, freeLast = list(3)
local takeFirst, takeLast = list(4)

local isLost = tidy('LLEN', journal)
for i, key in ipairs(KEYS) do
  if key ~= journal and tidy('HLEN', key) then isLost = true end
end
if isLost then return {'lost'} end

local term = termIn(meta)
-- A term or a version below ours can only be that of a server that went back in time: whoever writes after us raises both.
if not term or term < tonumber(ARGV[1]) then return {'lost'} end
if term ~= tonumber(ARGV[1]) then return {'staleTerm'} end
if ARGV[4] ~= '1' and isOpenElsewhere(ARGV[1], redis.call('HGET', meta, 'opened')) then return {'lost'} end
local counter = redis.call('HGET', cells, ARGV[2])
-- Without it nobody would find the cell: what is left of it is nothing that was written by who writes now.
if not counter or not string.match(counter, '^%d+$') then
  redis.call('HDEL', cells, ARGV[2])
  redis.call('DEL', records, heads, outbox, seen, journal)
end
for i = recordFirst, recordLast, 5 do
  local head = redis.call('HGET', heads, ARGV[i])
  local version = string.match(head or '', '^(%d+) ') or '0'
  if #version > 15 then version = '0' end
  if tonumber(version) < tonumber(ARGV[i + 1]) then return {'lost'} end
  if version ~= ARGV[i + 1] then return {'staleVersion'} end
end

local claims = {}
local function claimsOf(key, node)
  local id = key .. ' ' .. node
  local claim = claims[id]
  if not claim then
    local stored = redis.call('HGET', KEYS[7 + tonumber(key)], node)
    local isRead, owners = pcall(cjson.decode, stored or '[]')
    if not isRead or type(owners) ~= 'table' then isLost = true end
    claim = {key = key, node = node, owners = not isLost and owners or {}}
    claims[id] = claim
  end
  return claim
end
local function indexOf(owners, owner)
  for i = 1, #owners do if owners[i] == owner then return i end end
  return nil
end
for i = freeFirst, freeLast, 3 do
  local claim = claimsOf(ARGV[i], ARGV[i + 1])
  local index = indexOf(claim.owners, ARGV[i + 2])
  if index then table.remove(claim.owners, index) end
end
local full = {'claimsFull'}
for i = takeFirst, takeLast, 4 do
  local claim = claimsOf(ARGV[i], ARGV[i + 1])
  if not indexOf(claim.owners, ARGV[i + 2]) then
    if #claim.owners >= tonumber(ARGV[i + 3]) then full[#full + 1] = ARGV[i + 1]
    else claim.owners[#claim.owners + 1] = ARGV[i + 2] end
  end
end
if isLost then return {'lost'} end
if #full > 1 then return full end

for _, claim in pairs(claims) do
  local key = KEYS[7 + tonumber(claim.key)]
  if #claim.owners == 0 then redis.call('HDEL', key, claim.node)
  else redis.call('HSET', key, claim.node, cjson.encode(claim.owners)) end
end
for i = recordFirst, recordLast, 5 do
  if ARGV[i + 2] == '0' then
    redis.call('HDEL', records, ARGV[i])
    redis.call('HDEL', heads, ARGV[i])
  else
    redis.call('HSET', records, ARGV[i], ARGV[i + 4])
    redis.call('HSET', heads, ARGV[i], ARGV[i + 2] .. ' ' .. ARGV[i + 3])
  end
end
redis.call('HSETNX', cells, ARGV[2], '0')
for i = clearFirst, clearLast do redis.call('HDEL', outbox, ARGV[i]) end
for i = addFirst, addLast, 2 do
  local number = redis.call('HINCRBY', cells, ARGV[2], 1)
  redis.call('HSETNX', outbox, ARGV[i], number .. ' ' .. ARGV[i + 1])
end
for i = sendFirst, sendLast, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', seen, ARGV[i])
  else redis.call('HSET', seen, ARGV[i], ARGV[i + 1]) end
end
for i = entryFirst, entryLast do redis.call('LPUSH', journal, ARGV[i]) end
if entryLast >= entryFirst then redis.call('LTRIM', journal, 0, tonumber(ARGV[3]) - 1) end
return {'saved'}
`);

/** KEYS cells, records, heads, outbox, seen. ARGV cell. All that is stored of the cell, or nothing. */
export const LOAD = lua(`${FOREIGN}
if isForeign('HLEN', KEYS[1]) or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
local all = {}
for i = 2, #KEYS do all[i - 1] = isForeign('HLEN', KEYS[i]) and {} or redis.call('HGETALL', KEYS[i]) end
return all
`);

/** KEYS meta, cells, then every key of the cell. ARGV term, cell. */
export const DROP = lua(`
if redis.call('HGET', KEYS[1], 'term') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[2], ARGV[2])
for i = 3, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
`);

/** KEYS meta, claims of the provider. ARGV term, then alternating node and owners. */
export const RESET_CLAIMS = lua(`
if redis.call('HGET', KEYS[1], 'term') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
return 1
`);

/** KEYS meta, heads. ARGV actor. The open term, the actor's head, and 1 when the term was opened on another server. */
export const FENCE = lua(`${RUN_ID}
local meta = redis.call('HMGET', KEYS[1], 'term', 'opened')
return {meta[1], redis.call('HGET', KEYS[2], ARGV[1]), isOpenElsewhere(meta[1], meta[2]) and 1 or 0}
`);

/** Values that are not, or cannot be, our own figures are ignored: they could keep the budget closed. */
const FIGURES = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function figure(text, least, most)
  local value = text and string.match(text, '^-?%d+%.?%d*$') and tonumber(text)
  return value and value >= least and value <= most and value or nil
end
local function budgetIn(key, perHour)
  local stored = redis.call('HMGET', key, 'at', 'closedUntil', 'hour', 'count')
  return figure(stored[1], 0, now), figure(stored[2], 0, now + 3600000), figure(stored[3], -3 * perHour, perHour), figure(stored[4], 0, 1e15)
end
`;

/** KEYS budget, calls of the last minute, creations of the last minute, the turns of the line, then for each namespace its waiting callers in the line. ARGV
 *  capacity per minute, per hour, creations per minute; calls of the minute and of the hour to leave; 1 for creations; number of calls; length of the minute, ms;
 *  how long a turn is kept, ms; calls of the minute kept for quiet namespaces, which have made no more calls in it than this; then the namespaces.
 *  A turn is "<time of the last turn> <when the next caller returns> <number of its calls> <start of the count> <calls counted>".
 *  The minutes are the times of the last calls, newest first, by the server's clock; the hour is a bucket that refills continuously.
 *  Takes the calls and returns 0, or takes nothing and returns the ms to wait. */
export const PAY = lua(`${FOREIGN}${FIGURES}
tidy('HLEN', KEYS[1])
tidy('LLEN', KEYS[2])
tidy('LLEN', KEYS[3])
tidy('HLEN', KEYS[4])
local perHour, window, kept, quiet = tonumber(ARGV[2]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local storedAt, closedUntil, hour, count = budgetIn(KEYS[1], perHour)
local closed = math.max(0, (closedUntil or 0) - now)
local left = math.min(perHour, (hour or perHour) + (now - (storedAt or now)) * perHour / 3600000)
local logs = {{key = KEYS[2], capacity = tonumber(ARGV[1]), usable = tonumber(ARGV[1]) - tonumber(ARGV[4])}}
if ARGV[6] == '1' then logs[2] = {key = KEYS[3], capacity = tonumber(ARGV[3]), usable = tonumber(ARGV[3])} end
local usable = perHour - tonumber(ARGV[5])
for _, log in ipairs(logs) do usable = math.min(usable, log.usable) end
local calls = math.min(tonumber(ARGV[7]), math.max(1, usable))

local turns, stored = {}, redis.call('HGETALL', KEYS[4])
for index = 1, #stored, 2 do
  -- Whoever wrote a turn before calls were counted left the last two out.
  local had, due, wants, since, made = string.match(stored[index + 1] .. ' 0 0', '^(%d+) (%d+) (%d+) (%d+) (%d+)')
  had, due, wants = figure(had, 0, now), figure(due, 0, now + 3600000), figure(wants, 0, perHour)
  since, made = figure(since, 0, now), figure(made, 0, perHour)
  if had and due and wants and since and made and math.max(had + window, due + kept) > now then
    turns[stored[index]] = {had = had, due = due, wants = wants, since = since, made = made}
  else redis.call('HDEL', KEYS[4], stored[index]) end
end
local function turnOf(namespace) return turns[namespace] or {had = 0, since = 0, made = 0} end

-- Until the calls are free when so many others are given places first, and so many are kept.
local function waitBehind(others, keeping)
  local wait = math.max(closed, math.ceil((calls + others + tonumber(ARGV[5]) - left) * 3600000 / perHour))
  for _, log in ipairs(logs) do
    local at = redis.call('LINDEX', log.key, math.max(0, log.usable - keeping - calls - others))
    local calledAt = figure(at, 0, now + window)
    if calledAt then wait = math.max(wait, math.min(window, calledAt + window - now))
    elseif at then redis.call('DEL', log.key) end
  end
  return wait
end

-- Of the namespaces the one that has had no turn for the longest time gives its own.
local mine = 1
for index = 2, #ARGV - 10 do if turnOf(ARGV[10 + index]).had < turnOf(ARGV[10 + mine]).had then mine = index end end
local ahead = 0
for other, turn in pairs(turns) do
  if other ~= ARGV[10 + mine] and turn.had < turnOf(ARGV[10 + mine]).had and now < turn.due + kept then ahead = ahead + turn.wants end
end
local wait = waitBehind(ahead, quiet)
-- Or a quiet one takes of the calls that are kept for such.
for index = 1, #ARGV - 10 do
  local turn = turnOf(ARGV[10 + index])
  local counted = turn.since + window > now
  if wait > 0 and quiet > 0 and not (counted and turn.made + calls > quiet) and waitBehind(0, 0) <= 0 then wait, mine = 0, index end
end

local namespace, waiting = ARGV[10 + mine], KEYS[4 + mine]
local turn = turnOf(namespace)
tidy('ZCARD', waiting)
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now)
local function note(had, since, made)
  local due = redis.call('ZRANGE', waiting, 0, 0, 'WITHSCORES')[2] or 0
  redis.call('HSET', KEYS[4], namespace, string.format('%.0f %.0f %.0f %.0f %.0f', had, due, calls, since, made))
end

if wait > 0 then
  wait = waitBehind(ahead + redis.call('ZCARD', waiting), quiet)
  redis.call('HSET', KEYS[1], 'count', (count or 0) + 1)
  redis.call('ZADD', waiting, now + wait, (count or 0) + 1)
  note(turn.had, turn.since, turn.made)
  for _, key in ipairs({KEYS[4], waiting}) do redis.call('PEXPIRE', key, wait + window) end
  redis.call('PEXPIRE', KEYS[1], math.max(7200000, closed))
  return wait
end
if turn.since + window > now then note(now, turn.since, turn.made + calls) else note(now, now, calls) end
redis.call('PEXPIRE', KEYS[4], 7200000)
redis.call('HSET', KEYS[1], 'at', tostring(now), 'hour', string.format('%.6f', left - calls))
redis.call('PEXPIRE', KEYS[1], 7200000)
for _, log in ipairs(logs) do
  for _ = 1, calls do redis.call('LPUSH', log.key, now) end
  redis.call('LTRIM', log.key, 0, log.capacity - 1)
  redis.call('PEXPIRE', log.key, 2 * window)
end
return 0
`);

/** KEYS budget, calls of the last minute, creations of the last minute. ARGV capacity per minute, per hour, creations per minute; length of the minute,
 *  ms. Returns how many whole calls each could take now, 0 while it is closed. Writes nothing, so that an unused budget expires. */
export const LEFT = lua(`${FIGURES}
local perHour, since = tonumber(ARGV[2]), now - tonumber(ARGV[4])
local storedAt, closedUntil, storedHour = budgetIn(KEYS[1], perHour)
if (closedUntil or 0) > now then return {0, 0, 0} end
local hour = math.min(perHour, (storedHour or perHour) + (now - (storedAt or now)) * perHour / 3600000)
-- How many are newer: they stand in front.
local function counted(key)
  local low, high = 0, redis.call('LLEN', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if (tonumber(redis.call('LINDEX', key, middle)) or 0) > since then low = middle + 1 else high = middle end
  end
  return low
end
return {
  math.max(0, tonumber(ARGV[1]) - counted(KEYS[2])),
  math.max(0, math.floor(hour)),
  math.max(0, math.floor(tonumber(ARGV[3])) - counted(KEYS[3])),
}
`);

/** KEYS budget. ARGV ms. Closes it for that long; never shortens an existing closure. */
export const CLOSE = lua(`${FIGURES}
local untilMs = now + tonumber(ARGV[1])
local _, closedUntil = budgetIn(KEYS[1], 0)
if untilMs > (closedUntil or 0) then redis.call('HSET', KEYS[1], 'closedUntil', string.format('%.0f', untilMs)) end
redis.call('PEXPIRE', KEYS[1], math.max(7200000, tonumber(ARGV[1])))
return 1
`);

/** KEYS budget. ARGV remaining calls reported by the provider, capacity per hour. Lowers the calls left in the hour, never raises them. */
export const OBSERVE = lua(`${FIGURES}
local capacity = tonumber(ARGV[2])
local storedAt, _, hour = budgetIn(KEYS[1], capacity)
local elapsed = now - (storedAt or now)
local left = math.min(capacity, (hour or capacity) + elapsed * capacity / 3600000)
local remaining = tonumber(ARGV[1])
if remaining >= left then return 0 end
-- What fills up until the next call counts from the stored time on: so it is taken off here.
redis.call('HSET', KEYS[1], 'hour', string.format('%.6f', remaining - elapsed * capacity / 3600000))
if not storedAt then redis.call('HSET', KEYS[1], 'at', tostring(now)) end
redis.call('PEXPIRE', KEYS[1], 7200000)
return 1
`);
