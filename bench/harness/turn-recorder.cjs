// Loaded into a process of the product with `--require`: writes the longest turn of its event loop to the file TURNS_FILE on
// each SIGUSR2, and begins again. A turn counts with the computing time of its thread (Linux; elsewhere of the process), so
// that neither waiting for a processor nor a pause of the process counts.
const { openSync, readSync, writeFileSync } = require('node:fs');

const bytes = Buffer.alloc(64);
let statistics;
try {
  statistics = openSync('/proc/self/schedstat');
} catch {
  // Not Linux.
}

/** Milliseconds of computing so far. */
function computed() {
  if (statistics === undefined) {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
  const length = readSync(statistics, bytes, 0, bytes.length, 0);
  return Number(bytes.toString('latin1', 0, length).split(' ', 1)[0]) / 1_000_000;
}

let longest = 0;
let last = computed();

function mark() {
  const now = computed();
  longest = Math.max(longest, now - last);
  last = now;
}

setInterval(mark, 1).unref();
process.on('SIGUSR2', () => {
  mark();
  writeFileSync(process.env.TURNS_FILE, JSON.stringify({ longest }));
  longest = 0;
});
