import { isRecord } from '../../common/values';
import {
  REASONS,
  REPLY_ACTIONS,
  REPLY_CLASSES,
  REPLY_STAGES,
  type ReplyAction,
  type ReplyClass,
  type ReplyReason,
  type ReplyRule,
  type ReplyStage,
} from './reply-rule';

/** A rule as it stands in a file; `docs/operations.md` describes the fields. */
export interface RuleDefinition {
  readonly id: string;
  readonly stages?: readonly string[];
  /** `550`, `4xx`; both 4xx and 5xx when absent. */
  readonly codes?: readonly string[];
  /** `5.1.1`, `5.7.*`; the first digit is left to the reply code (RFC 3463 section 3.1). */
  readonly enhancedCodes?: readonly string[];
  readonly text?: string;
  readonly class: string;
  readonly reason?: string;
  readonly action: string;
  readonly bounceType?: string;
  readonly explanation?: string;
}

/** Makes a pattern a test of texts, without regard to case. @throws Error when it is none */
export type CompileText = (pattern: string) => (text: string) => boolean;

const FIELDS = ['id', 'stages', 'codes', 'enhancedCodes', 'text', 'class', 'action', 'explanation'];
const EVERY_REFUSAL = ['4xx', '5xx'];
const MAX_PATTERN_LENGTH = 2_000;

/** A rule from its definition. @throws Error that says what is wrong, without the rule's name */
export function compileRule(definition: RuleDefinition, compileText: CompileText, isOwn = false): ReplyRule {
  const { id, text, explanation } = definition;
  const kind = oneOf(REPLY_CLASSES, definition.class, 'class');
  const action = oneOf(REPLY_ACTIONS, definition.action, 'action');
  if (action === 'bounce_and_suppress' && kind !== 'mailbox') {
    throw new Error("bounce_and_suppress is for class mailbox: nothing else is the address's own fault");
  }
  return {
    ...{ id, class: kind, action, explanation, isOwn },
    codes: (definition.codes ?? EVERY_REFUSAL).map(readCode),
    stages: definition.stages?.map((stage): ReplyStage => oneOf(REPLY_STAGES, stage, 'stages')),
    enhanced: definition.enhancedCodes?.map(readEnhanced),
    matchesText: text === undefined ? undefined : compileText(text),
    reason: reasonOf(kind, definition.reason),
    bounceType: bounceTypeOf(kind, action, definition.bounceType),
  };
}

/** Checks the form of an operator's file. @throws Error that names the rule, by its id or its place */
export function compileOwnRules(content: unknown, compileText: CompileText): ReplyRule[] {
  if (!isRecord(content) || !Array.isArray(content.rules)) throw new Error('must be an object with an array "rules"');
  const seen = new Set<string>();
  return content.rules.map((rule: unknown, index) => {
    const name = isRecord(rule) && typeof rule.id === 'string' ? `rule "${rule.id}"` : `rule ${index + 1}`;
    try {
      return compileRule(readDefinition(rule, seen), compileText, true);
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`);
    }
  });
}

function readDefinition(rule: unknown, seen: Set<string>): RuleDefinition {
  if (!isRecord(rule)) throw new Error('must be an object');
  const unknown = Object.keys(rule).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw new Error(`unknown field ${unknown}; known are ${FIELDS.join(', ')}`);
  if (typeof rule.id !== 'string' || !/^[\w.-]{1,64}$/.test(rule.id)) {
    throw new Error('id must be 1 to 64 letters, digits, dots, hyphens or underscores');
  }
  if (seen.has(rule.id)) throw new Error('the id is taken by a rule before it');
  seen.add(rule.id);
  for (const field of ['stages', 'codes', 'enhancedCodes']) checkList(rule[field], field);
  for (const field of ['text', 'explanation']) checkText(rule[field], field);
  return rule as unknown as RuleDefinition;
}

function checkList(value: unknown, field: string): void {
  if (value === undefined) return;
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
  if (!isList) throw new Error(`${field} must be an array of texts, not an empty one`);
}

function checkText(value: unknown, field: string): void {
  if (value === undefined) return;
  if (typeof value !== 'string' || value === '') throw new Error(`${field} must be a text, not an empty one`);
  if (value.length > MAX_PATTERN_LENGTH) throw new Error(`${field} must be at most ${MAX_PATTERN_LENGTH} characters`);
}

function readCode(code: string): string {
  if (!/^[45][0-9x][0-9x]$/i.test(code)) throw new Error(`codes must be like 550, 55x or 4xx, not ${code}`);
  return code.toLowerCase();
}

function readEnhanced(code: string): string {
  const detail = /^[45]\.(\d{1,3}\.(?:\d{1,3}|\*))$/.exec(code)?.[1];
  if (detail === undefined) throw new Error(`enhancedCodes must be like 5.1.1 or 5.7.*, not ${code}`);
  return detail;
}

function reasonOf(kind: ReplyClass, named: string | undefined): ReplyReason {
  const reasons: readonly ReplyReason[] = REASONS[kind];
  return named === undefined ? REASONS[kind][0] : oneOf(reasons, named, 'reason');
}

function bounceTypeOf(kind: ReplyClass, action: ReplyAction, named: string | undefined): 'hard' | 'soft' {
  if (named !== undefined) return oneOf(['hard', 'soft'] as const, named, 'bounceType');
  return kind === 'mailbox' || action === 'bounce_and_suppress' ? 'hard' : 'soft';
}

function oneOf<Value extends string>(values: readonly Value[], value: unknown, field: string): Value {
  const found = values.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`${field} must be one of ${values.join(', ')}`);
  return found;
}
