const log = document.getElementById("log");
const events = new EventSource("/events?stream");
events.onmessage = (event) => log.append(`${event.data}\n`);
events.addEventListener("end", () => {
  log.append("the end\n");
  events.close();
});
