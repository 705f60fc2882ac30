"""The script that counts limits in Redis."""

from accounts.limits.windows import MOST_AHEAD

# Counts in several buckets. ARGV[1] has the cost, the time and the windows of each, and KEYS the hash of each window;
# windows of the same part of a bucket share one. Returns for each bucket how much is granted, and its former counts.
CONSUME = """
local reply, first = {}, 0
for _, bucket in ipairs(cmsgpack.unpack(ARGV[1])) do
  local cost, now, windows = unpack(bucket)
  local granted, numbers, counts, longest = cost, {}, {}, {}
  for i, window in ipairs(windows) do
    local key, limit, seconds = KEYS[first + i], unpack(window)
    local kept = redis.call('HMGET', key, 'n' .. seconds, 'c' .. seconds)
    numbers[i], counts[i] = math.floor(now / seconds), 0
    local former = tonumber(kept[1] or 0)
    if former >= numbers[i] and former * seconds <= now + MOST_AHEAD then
      numbers[i], counts[i] = former, tonumber(kept[2])
    end
    granted = math.max(math.min(granted, limit - counts[i]), 0)
    longest[key] = math.max(longest[key] or 0, seconds)
  end
  if granted > 0 then
    for i, window in ipairs(windows) do
      local number, count = string.format('%d', numbers[i]), string.format('%d', counts[i] + granted)
      redis.call('HSET', KEYS[first + i], 'n' .. window[2], number, 'c' .. window[2], count)
    end
    for key, seconds in pairs(longest) do
      redis.call('EXPIRE', key, seconds * 2)
    end
  end
  table.insert(reply, {granted, counts})
  first = first + #windows
end
return reply
""".replace("MOST_AHEAD", str(MOST_AHEAD))
