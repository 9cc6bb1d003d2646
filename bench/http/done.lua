-- Prints the whole latency histogram (microseconds and counts) when the run ends, for wrk.ts to read.
-- There is deliberately no request() or response(): they would make wrk call Lua for every request.
function done(summary, latency, requests)
  local e = summary.errors
  io.write("\nHISTOGRAM\n")
  io.write(string.format("run %d %d %d\n", summary.duration, summary.requests, summary.bytes))
  io.write(string.format("errors %d %d %d %d %d\n", e.connect, e.read, e.write, e.timeout, e.status))
  for i = 1, #latency do
    local value, count = latency(i)
    io.write(string.format("%d %d\n", value, count))
  end
  io.write("END\n")
end
