/** Progress goes to standard error, with the seconds since the start: standard output is the result. */
export function say(text) {
  process.stderr.write(`chaos ${(performance.now() / 1_000).toFixed(1)}: ${text}\n`);
}
