import crawlers from 'crawler-user-agents';
import { LRUCache } from 'lru-cache';
import { AGENT_RULES } from './agent-rules';
import { isScannerNetwork, parseAddress } from './network-address';
import type { Automation, Recognition, Visit } from './recognition';

/** What distinguishes agents stands early in them; the rest would only cost time. */
const MAX_AGENT_LENGTH = 512;
const CRAWLER = new RegExp(crawlers.map(({ pattern }) => pattern).join('|'));
/** Compiled now (some 70 ms), not under the first mail that is opened. */
CRAWLER.test('');

/** 1,500 patterns take up to 0.3 ms, and most agents come again. */
const known = new LRUCache<string, Recognition>({ max: 1_000 });

/** Guesses from what programs have in common with filters. On this machine they are the tools of a person. */
const GUESSES: ReadonlySet<Automation | undefined> = new Set(['no-user-agent', 'crawler']);

/** What a single request shows of its client; what several show together is found by `LinkBursts`. */
export function recognizeAutomation({ isHead, isPrefetch, userAgent, address, isOnThisMachine }: Visit): Recognition {
  if (isHead) return { automation: 'head-request' };
  if (isPrefetch) return { automation: 'prefetch' };
  const parsed = parseAddress(address);
  if (parsed && isScannerNetwork(parsed)) return { automation: 'security-scanner' };
  const recognized = recognizeAgent(userAgent.slice(0, MAX_AGENT_LENGTH).trim());
  return isOnThisMachine && GUESSES.has(recognized.automation) ? {} : recognized;
}

function recognizeAgent(agent: string): Recognition {
  const remembered = known.get(agent);
  if (remembered) return remembered;
  const recognized = classifyAgent(agent);
  known.set(agent, recognized);
  return recognized;
}

function classifyAgent(agent: string): Recognition {
  if (agent === '') return { automation: 'no-user-agent' };
  const rule = AGENT_RULES.find(({ pattern }) => pattern.test(agent));
  if (rule) return { automation: rule.automation, proxy: rule.proxy };
  return CRAWLER.test(agent) ? { automation: 'crawler' } : {};
}
