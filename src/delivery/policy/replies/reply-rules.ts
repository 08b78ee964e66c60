import { readFileSync } from 'node:fs';
import { RE2JS } from 're2js';
import { isRecord } from '../../../common/values';
import { ConfigurationError } from '../../../config/load-config';
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
import anyDefaults from './rules/any-defaults.json';
import anyMachines from './rules/any-machines.json';
import anyRecipientSide from './rules/any-recipient-side.json';
import anySenderSide from './rules/any-sender-side.json';
import anyTemporary from './rules/any-temporary.json';
import apple from './rules/apple.json';
import asia from './rules/asia.json';
import filters from './rules/filters.json';
import france from './rules/france.json';
import google from './rules/google.json';
import microsoft from './rules/microsoft.json';
import northAmerica from './rules/north-america.json';
import rfc from './rules/rfc.json';
import servers from './rules/servers.json';
import unitedInternet from './rules/united-internet.json';
import words from './rules/words.json';
import yahoo from './rules/yahoo.json';

/**
 * What one file holds. `sources` name where a rule's codes or texts were published: by a receiver, a product or an RFC, in a
 * server's code or a public collection of replies. `replies` are `phase | reply`, the proof of each rule.
 */
export interface RuleFile {
  readonly receiver: string;
  readonly sources: Readonly<Record<string, string>>;
  readonly rules: readonly BuiltInDefinition[];
}

type BuiltInDefinition = RuleDefinition & {
  readonly words?: string;
  /** Other word lists: a reply with one of their words does not match. */
  readonly unless?: readonly string[];
  /** One of the file's. */
  readonly source: string;
  readonly replies: readonly string[];
};

/** Of single receivers and products. */
const RECEIVERS: readonly RuleFile[] = [
  ...[google, microsoft, yahoo, apple, unitedInternet, northAmerica, france, asia, filters, servers, rfc],
];

/** Of any server. */
const ANY: readonly RuleFile[] = [anyTemporary, anySenderSide, anyRecipientSide, anyMachines, anyDefaults];

export const RULE_FILES: readonly RuleFile[] = [...RECEIVERS, ...ANY];

/** Restricted, full and temporarily closed mailboxes are recognized first, and codes of policy: 5.7 never suppresses. */
const AFTER_POLICY = rulesOf(anyRecipientSide).findIndex((rule) => rule.id === 'policy-code') + 1;

/**
 * The table. First match wins. Faults of the sender or of the message come before those of the recipient, so that a refusal of
 * this service never counts as a bad address: servers send such texts with any code, 5.1.1 included.
 */
export const REPLY_RULES: readonly ReplyRule[] = [
  ...RECEIVERS.flatMap(keepingAddresses),
  ...rulesOf(anyTemporary),
  ...rulesOf(anySenderSide),
  ...rulesOf(anyRecipientSide).slice(0, AFTER_POLICY),
  ...RECEIVERS.flatMap(suppressing),
  ...rulesOf(anyRecipientSide).slice(AFTER_POLICY),
  ...rulesOf(anyMachines),
  ...rulesOf(anyDefaults),
];

/** A code outside 400–599 where a refusal was due: the conversation is out of step, which shows nothing about the address. */
export const UNREADABLE_REPLY: ReplyRule = {
  ...{ id: 'unreadable', codes: [], class: 'infrastructure', reason: 'protocol', action: 'retry', bounceType: 'soft' },
  ...{ explanation: 'Not a refusal at all: the conversation went astray.', isOwn: false },
  source: 'https://www.rfc-editor.org/rfc/rfc5321#section-4.2',
};

function keepingAddresses(file: RuleFile): ReplyRule[] {
  return rulesOf(file).filter((rule) => rule.action !== 'bounce_and_suppress');
}

function suppressing(file: RuleFile): ReplyRule[] {
  return rulesOf(file).filter((rule) => rule.action === 'bounce_and_suppress');
}

function rulesOf({ rules, sources }: RuleFile): ReplyRule[] {
  return rules.map((rule) => {
    const compiled = compileRule({ ...rule, text: wordsOf(rule.words) ?? rule.text }, compilePlain);
    const { matchesText } = compiled;
    const named = { ...compiled, source: sources[rule.source] };
    if (rule.unless === undefined || matchesText === undefined) return named;
    const isExcepted = compilePlain(rule.unless.map(wordsOf).join('|'));
    return { ...named, matchesText: (text: string) => matchesText(text) && !isExcepted(text) };
  });
}

/** A word list that rules share, by its name. */
function wordsOf(list: string | undefined): string | undefined {
  return list === undefined ? undefined : words[list as keyof typeof words];
}

/** Alternatives of plain words, without repetition: linear as they are, and ten times as fast as RE2 in JavaScript. */
function compilePlain(pattern: string): (text: string) => boolean {
  const compiled = new RegExp(pattern, 'i');
  return (text) => compiled.test(text);
}

/** Read from an operator's file. @throws ConfigurationError that names the file, and the rule that is wrong */
export function readOwnRules(path: string): ReplyRule[] {
  try {
    return compileOwnRules(JSON.parse(readFileSync(path, 'utf8')), compileLinear);
  } catch (error) {
    throw new ConfigurationError([`CLASSIFICATION_RULES ${path}: ${(error as Error).message}`]);
  }
}

/** RE2's syntax: it takes linear time whatever the pattern and the text; look-around and back-references are refused. */
function compileLinear(pattern: string): (text: string) => boolean {
  const compiled = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
  return (text) => compiled.matcher(text).find();
}

/** A rule as it stands in a file; `docs/operations/delivering.md` describes the fields. */
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

/** A rule from its definition. @throws Error that names what is wrong, without the rule's name */
function compileRule(definition: RuleDefinition, compileText: CompileText, isOwn = false): ReplyRule {
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
