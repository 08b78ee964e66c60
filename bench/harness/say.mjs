/** Progress goes to standard error: standard output is the table. */
export function say(text) {
  process.stderr.write(`bench: ${text}\n`);
}
