import { readFileSync } from 'node:fs';
import { RE2JS } from 're2js';
import { ConfigurationError } from '../../config/load-config';
import type { ReplyRule } from './reply-rule';
import { compileOwnRules, compileRule, type RuleDefinition } from './rule-file';
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
 * What one file holds. `sources` say where a rule's codes or texts were made public: what a receiver, a product or an RFC has
 * published, the code of a server, a public collection of replies. `replies` are `phase | reply`, the proof of each rule.
 */
export interface RuleFile {
  readonly receiver: string;
  readonly sources: Readonly<Record<string, string>>;
  readonly rules: readonly BuiltInDefinition[];
}

type BuiltInDefinition = RuleDefinition & {
  readonly words?: string;
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
 * The table. First match wins. Faults of the sender or of the message come before those of the recipient, so that a
 * refusal of ours can never read as a bad address: servers send such texts with any code, 5.1.1 included.
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

/** A code outside 400–599 where a refusal was due: the conversation went astray, which says nothing of the address. */
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
  return rules.map((rule) => ({
    ...compileRule({ ...rule, ...textOf(rule) }, compilePlain),
    source: sources[rule.source],
  }));
}

/** A word list that rules share, by its name. */
function textOf({ words: list }: BuiltInDefinition): { text: string } | undefined {
  return list === undefined ? undefined : { text: words[list as keyof typeof words] };
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
