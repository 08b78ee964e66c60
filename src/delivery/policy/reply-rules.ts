import { PERMANENT_REPLY_RULES } from './permanent-reply-rules';
import { PERMANENT, TEMPORARY, type ReplyRule } from './reply-rule';
import { TEMPORARY_REPLY_RULES } from './temporary-reply-rules';

/** Raised with every change of a row or of the order, so that old events can be read against their own table. */
export const REPLY_RULES_VERSION = 1;

/** What no row knows: one default per code class, and one for replies that are not refusals at all. */
const DEFAULTS: readonly ReplyRule[] = [
  { id: 'default-temporary', codes: TEMPORARY, class: 'temporary', action: 'retry' },
  {
    id: 'default-permanent-recipient',
    codes: PERMANENT,
    stages: ['recipient'],
    class: 'unclassified',
    action: 'bounce-hard',
  },
  { id: 'default-permanent', codes: PERMANENT, class: 'unclassified', action: 'bounce-soft' },
];

/** A code outside 400–599 where a refusal was due: the conversation went astray, which says nothing of the address. */
export const UNREADABLE_REPLY: ReplyRule = {
  id: 'unreadable',
  codes: [-Infinity, Infinity],
  class: 'protocol',
  action: 'retry',
};

/** The table. First match wins. Every row is proven by a reply in `reply-rules.examples.ts`. */
export const REPLY_RULES: readonly ReplyRule[] = [...TEMPORARY_REPLY_RULES, ...PERMANENT_REPLY_RULES, ...DEFAULTS];
