import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  classifierOf,
  type ReplyClassification,
  type ReplyClassifier,
} from '../delivery/policy/replies/classify-reply';
import { REPLY_STAGES, type ReplyStage } from '../delivery/policy/replies/reply-rule';
import { CliError, fields, type Report, table } from './session/output';
import { type Replay, ReplayRepliesService } from '../modules/emails/outcomes/replay-replies.service';
import type { CliSession, Services } from './session/cli-session';

const MAX_DAYS = 400;

interface ClassifyOptions {
  readonly stage: ReplyStage;
  readonly rules?: string;
  readonly replay?: number;
}

/** `waybill classify` */
export function addClassifyCommand(command: Command, session: CliSession): void {
  command
    .argument('[reply]', 'all lines, with line breaks or a literal \\n between them')
    .addOption(new Option('--stage <stage>', 'the command that was refused').choices(REPLY_STAGES).default('rcpt'))
    .option(
      '--replay <days>',
      'instead of a reply: classify the stored ones again, and show the differences',
      parseDays,
    )
    .option('--rules <file>', 'rules before the built-in ones (default: CLASSIFICATION_RULES)')
    .action(async (reply: string | undefined, { stage, rules, replay }: ClassifyOptions) => {
      const classifier = classifierOf(rules ?? session.variable('CLASSIFICATION_RULES'));
      if ((reply === undefined) === (replay === undefined)) {
        throw new CliError('invalid_request', 'Give a reply, or --replay <days>');
      }
      if (replay !== undefined) await session.run((services) => replayReplies(services, classifier, replay));
      else session.output.result(classify(classifier, reply ?? '', stage));
    });
}

async function replayReplies(services: Services, classifier: ReplyClassifier, days: number): Promise<Report> {
  const { changes, difference, ...counts } = await services.get(ReplayRepliesService).replay(days, classifier);
  const shown = { days, ...counts, ...flat(difference) };
  const rows = changes.map(({ count, from, to }) => ({
    ...{ count, rule: from.rule, action: from.action },
    ...{ new_rule: to.rule, new_action: to.action },
  }));
  const text = rows.length === 0 ? fields(shown) : `${fields(shown)}\n\n${table(rows)}`;
  return { json: { days, ...counts, difference, changes }, text };
}

function flat(difference: Replay['difference']): Record<string, number> {
  const entries = Object.entries(difference).flatMap(([ending, { added, removed }]) => [
    [`${ending}_added`, added] as const,
    [`${ending}_removed`, removed] as const,
  ]);
  return Object.fromEntries(entries);
}

function parseDays(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS) {
    throw new InvalidArgumentError(`It must be a number of days, 1 to ${MAX_DAYS}.`);
  }
  return days;
}

function classify(classifier: ReplyClassifier, reply: string, phase: ReplyStage): Report {
  const lines = reply.split(/\\r\\n|\\n|\r?\n/).filter((line) => line.trim() !== '');
  const [, code, enhancedCode] =
    /^\s*([45]\d\d)(?:[ -](?:([245]\.\d{1,3}\.\d{1,3})(?![.\d]))?|$)/.exec(lines[0] ?? '') ?? [];
  if (code === undefined) throw new CliError('invalid_request', 'A refusal begins with its code, 400 to 599');
  const found = classifier.classify({
    phase,
    code: Number(code),
    enhancedCode,
    text: lines.map((line) => line.trim()),
  });
  const shown = describe(found);
  return { json: shown, text: fields(shown) };
}

function describe(found: ReplyClassification) {
  const { ruleId, class: kind, action, bounceType, explanation, source, maximumRetries } = found;
  const isBounce = action === 'bounce' || action === 'bounce_and_suppress';
  const retries = `Before RCPT nothing is said of the recipient: after ${maximumRetries} retries it is a soft bounce.`;
  return {
    rule: ruleId,
    class: kind,
    action,
    suppress: action === 'bounce_and_suppress',
    bounceType: isBounce ? bounceType : null,
    explanation: [explanation ?? "A rule of the operator's.", ...(maximumRetries === undefined ? [] : [retries])].join(
      ' ',
    ),
    source: source ?? 'CLASSIFICATION_RULES',
  };
}
