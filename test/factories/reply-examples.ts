import { SMTP_PHASES } from '../../src/delivery/ports/attempt-trace';
import type { ReplyToClassify } from '../../src/delivery/policy/replies/read-reply';
import { RULE_FILES } from '../../src/delivery/policy/replies/reply-rules';

/** As the connection hands it over: all lines as they came, the enhanced code of the first. */
export function parseExample(example: string): ReplyToClassify {
  const [named, reply = ''] = example.split(' | ');
  const [, code, enhancedCode] = /^(\d{3})[ -](?:([245]\.\d+\.\d+) )?/.exec(reply) ?? [];
  const phase = SMTP_PHASES.find((candidate) => candidate === named);
  return { phase, code: Number(code), enhancedCode, text: reply.split('\n') };
}

/** Every rule as its file has it. */
export const definitions = RULE_FILES.flatMap((file) => file.rules);
/** A real reply for each rule at least, as `phase | reply`. */
export const examples = definitions.flatMap(({ id: ruleId, replies }) => replies.map((text) => ({ ruleId, text })));
