import { parseArgs } from 'node:util';
import { DEFAULT_MESSAGES, DEFAULT_UPGRADE_MESSAGES } from './plan/plan.mjs';

export const USAGE = `npm run chaos -- [--seed N] [--messages M] [--json] [--keep]

  --seed      repeats a run's plan; by default a random one
  --messages  by default ${DEFAULT_MESSAGES}; fewer shorten the run and its faults in proportion
  --json      the result as JSON on standard output
  --keep      keeps the logs of the processes also when all is well
`;

export const UPGRADE_USAGE = `npm run upgrade:try -- [--from REVISION] [--back] [--seed N] [--messages M] [--json] [--keep]

  --from      the git revision of the earlier release; by default the newest tag v*
  --back      in the end all processes are rolled back to it
  --seed      repeats a run's plan; by default a random one
  --messages  by default ${DEFAULT_UPGRADE_MESSAGES}
  --json      the result as JSON on standard output
  --keep      keeps the logs of the processes also when all is well
`;

const OPTIONS = {
  seed: { type: 'string' },
  messages: { type: 'string', default: String(DEFAULT_MESSAGES) },
  json: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

/** Parses the command line. @throws Error for an unknown option or value */
export function parseSettings(args, options = OPTIONS) {
  const { values } = parseArgs({ args, options });
  values.seed ??= String(1 + Math.floor(Math.random() * 999_999));
  return { ...values, seed: positive('seed', values.seed), messages: positive('messages', values.messages) };
}

/** The same for `npm run upgrade:try`. */
export function parseUpgradeSettings(args) {
  const messages = { type: 'string', default: String(DEFAULT_UPGRADE_MESSAGES) };
  return parseSettings(args, {
    ...OPTIONS,
    messages,
    from: { type: 'string' },
    back: { type: 'boolean', default: false },
  });
}

function positive(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a positive whole number`);
  return value;
}
