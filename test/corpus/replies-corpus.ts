import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What must come of a reply, and the reply as `phase | reply`, its lines joined by a literal `\n`. */
export interface JudgedReply {
  readonly action: string;
  readonly class: string;
  readonly example: string;
}

/**
 * Replies of real servers, each with what a person who reads it would do: one in each line of `replies.txt`, as
 * `action class phase | reply`; `#` begins a comment.
 */
export function judgedReplies(): JudgedReply[] {
  const lines = readFileSync(join(__dirname, 'replies.txt'), 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, action, kind, example] = /^(\w+) (\w+) (\w+ \| .+)$/.exec(line) ?? [];
    return action && kind && example ? [{ action, class: kind, example: example.replaceAll('\\n', '\n') }] : [];
  });
}
