import { parseArgs } from 'node:util';
import { DEFAULT_MESSAGES } from './plan/plan.mjs';

export const USAGE = `npm run chaos -- [--seed N] [--messages M] [--json] [--keep]

  --seed      repeats a run's plan; by default a random one
  --messages  by default ${DEFAULT_MESSAGES}; fewer shorten the run and its faults in proportion
  --json      the verdict as JSON on standard output
  --keep      keeps the logs of the processes also when all is well
`;

/** Parses the command line. @throws Error for an unknown option or value */
export function parseSettings(args) {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 999_999)) },
      messages: { type: 'string', default: String(DEFAULT_MESSAGES) },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return { ...values, seed: positive('seed', values.seed), messages: positive('messages', values.messages) };
}

function positive(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a positive whole number`);
  return value;
}
