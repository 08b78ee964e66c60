import { type Command, Option } from 'commander';
import { type ReplyClassification, ReplyClassifier } from '../delivery/policy/classify-reply';
import { readOwnRules } from '../delivery/policy/own-rules';
import { REPLY_STAGES, type ReplyStage } from '../delivery/policy/reply-rule';
import { CliError } from './session/cli-error';
import type { CliSession } from './session/cli-session';
import { fields, type Report } from './session/output';

interface ClassifyOptions {
  readonly stage: ReplyStage;
  readonly rules?: string;
}

/** `waybill classify` */
export function addClassifyCommand(program: Command, session: CliSession): void {
  program
    .command('classify')
    .description('say what a reply of a mail server means, and what is done about it')
    .argument('<reply>', 'all lines, with line breaks or a literal \\n between them')
    .addOption(new Option('--stage <stage>', 'the command that was refused').choices(REPLY_STAGES).default('rcpt'))
    .option('--rules <file>', 'rules before the built-in ones (default: CLASSIFICATION_RULES)')
    .action((reply: string, { stage, rules }: ClassifyOptions) => {
      const classifier = classifierOf(rules ?? session.variable('CLASSIFICATION_RULES'));
      session.output.result(classify(classifier, reply, stage));
    });
}

/** @throws ConfigurationError that names the rule that is wrong */
export function classifierOf(file: string | undefined): ReplyClassifier {
  return new ReplyClassifier(file ? readOwnRules(file) : []);
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

function describe({ ruleId, class: kind, action, bounceType, explanation, maximumRetries }: ReplyClassification) {
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
  };
}
