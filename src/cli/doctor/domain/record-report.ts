import type { DnsAnswer, DnsResolver } from '../../../common/dns/dns-resolver';
import type { InspectedRecord } from '../../../modules/domains/domain-inspection.service';
import { cell } from '../../text';
import type { CheckStatus } from '../check';

/** One record, wanted beside found. */
export interface RecordReport {
  readonly purpose: string;
  readonly type: string;
  readonly host: string;
  readonly required: boolean;
  readonly status: CheckStatus;
  readonly wanted: string;
  /** What is there now; of the many texts at a domain's own name, those about SPF. */
  readonly found: readonly string[];
  readonly problem?: string;
}

export async function reportRecord(resolver: DnsResolver, record: InspectedRecord): Promise<RecordReport> {
  const { wanted, check, required } = record;
  const { purpose, type, host, value } = wanted;
  const answer = type === 'TXT' ? await resolver.resolveTxt(host) : await resolver.resolveCname(host);
  return {
    ...{ purpose, type, host, required },
    status: check.result === 'verified' ? 'ok' : required ? 'problem' : 'warning',
    wanted: value,
    found: recordsOf(answer).filter((text) => purpose !== 'spf' || /^v=spf1\b/i.test(text)),
    ...(check.result !== 'verified' && { problem: check.problem }),
  };
}

/** For people: a block of lines. What stands in the DNS is a stranger's text, so control characters are shown as marks. */
export function describeRecord({ purpose, type, host, status, wanted, found, problem }: RecordReport): string {
  const lines = [
    `${purpose.padEnd(12)}  ${status.padEnd(7)}  ${type} ${host}`,
    ...(status === 'ok' ? [] : [`  wanted   ${wanted}`, ...foundLines(found)]),
    ...(problem === undefined ? [] : [`  because  ${cell(problem)}`]),
  ];
  return lines.join('\n');
}

function foundLines(found: readonly string[]): string[] {
  return found.length === 0 ? ['  found    nothing'] : found.map((text) => `  found    ${cell(text)}`);
}

function recordsOf(answer: DnsAnswer<string>): readonly string[] {
  return answer.kind === 'found' ? answer.records : [];
}
