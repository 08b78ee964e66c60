// A fixed piece of work, repeated while others are measured: how much CPU time it takes says how fast the machine is meanwhile.
// Speeds of rented machines change by half within minutes, so that CPU seconds of different minutes cannot be compared.
import { createHash } from 'node:crypto';
import { emailBody } from '../harness/mail.mjs';
import { serve } from '../harness/helper.mjs';
import { median } from '../harness/report.mjs';

const EVERY_MS = 200;
/** Some milliseconds, of which the caches are cold at first, as those of every process after a switch. */
const REPETITIONS = 150;

const body = emailBody(0);
let samples = [];
let sum = 0;

for (let warmUp = 0; warmUp < 20; warmUp += 1) work();
setInterval(() => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  samples.push((user + system) / 1_000);
}, EVERY_MS);

serve({ start: () => ({}), begin: () => void (samples = []), end: () => ({ ms: median(samples), sum }) });

/** Texts, objects and a hash, as in the processes that are measured. */
function work() {
  for (let index = 0; index < REPETITIONS; index += 1) {
    const text = JSON.stringify({ ...body, subject: `${body.subject} ${index}` });
    sum += Object.keys(JSON.parse(text)).length;
    sum += createHash('sha256').update(text).digest()[0];
  }
}
