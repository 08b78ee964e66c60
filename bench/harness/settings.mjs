import path from 'node:path';
import { parseArgs } from 'node:util';
import { DIST } from './product.mjs';

const STANDARD = ['parse-only', 'accept-single', 'accept-batch', 'deliver', 'end-to-end'];
/** Run only when named by `--only`. */
const SCENARIOS = [...STANDARD, 'accept-smtp', 'wall-single', 'wall-batch', 'traces', 'tls-domains'];

export const USAGE = `npm run bench -- [--rounds N] [--seconds S] [--messages N] [--domains N] [--only ${SCENARIOS.join('|')}] [--profile FOLDER]

  --rounds    rounds of floor and product, by default 3
  --seconds   length of one timed run, by default 5
  --messages  mails that the product delivers in one run, by default 20,000: of a few thousand, begin and end are a large part
  --domains   how many domains these go to in tls-domains, by default 1,000
  --only      one figure; may be given several times
  --profile   a folder for CPU profiles of the product; statements are timed too, so do not keep those figures
`;

/** Parses the command line. @throws Error for an unknown option or value */
export function parseSettings(args) {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '5' },
      messages: { type: 'string', default: '20000' },
      domains: { type: 'string', default: '1000' },
      only: { type: 'string', multiple: true, default: STANDARD },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = values.only.find((name) => !SCENARIOS.includes(name));
  if (unknown !== undefined) throw new Error(`--only knows ${SCENARIOS.join(', ')}, not ${unknown}`);
  return {
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    messages: positive('messages', values.messages),
    domains: positive('domains', values.domains),
    scenarios: values.only,
    profile: values.profile,
    help: values.help,
  };
}

/**
 * The command line of a figure that has a script of its own.
 *
 * @param seconds of one run, by default
 * @returns undefined after printing the usage. @throws Error for an unknown option or value
 */
export function parseRun(usage, { seconds }) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: String(seconds) },
      dist: { type: 'string', default: DIST },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return undefined;
  }
  return {
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    dist: path.resolve(values.dist),
  };
}

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a positive number`);
  return value;
}
