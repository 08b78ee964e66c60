import fc from 'fast-check';
import type { DeliveryOutcome } from '../../ports/outcome';
import { DEFAULT_SIMULATOR_DOMAIN, simulate } from './simulate';

const NOW = new Date('2026-03-01T12:00:00Z');

function at(localPart: string, attempt = 1) {
  return simulate({ recipient: `${localPart}@${DEFAULT_SIMULATOR_DOMAIN}`, attempt, now: NOW });
}

describe('simulate', () => {
  it.each<[string, DeliveryOutcome['kind'], string[]]>([
    ['delivered', 'delivered', []],
    ['bounced', 'bounced', []],
    ['soft-bounced', 'deferred', []],
    ['complained', 'delivered', ['spam_report']],
    ['opened', 'delivered', ['opened']],
    ['clicked', 'delivered', ['clicked']],
    ['suppressed', 'failed', []],
    ['anybody', 'delivered', []],
  ])('%s@ ends as %s', (localPart, kind, followUps) => {
    const result = at(localPart);
    expect(result.outcome.kind).toBe(kind);
    expect(result.followUps).toEqual(followUps);
  });

  it('bounces hard with 550 5.1.1 and suppresses', () => {
    expect(at('bounced').outcome).toMatchObject({
      bounceType: 'hard',
      suppress: true,
      smtp: { code: 550, enhancedCode: '5.1.1', mxHost: 'mx.simulator.waybill.test', phase: 'rcpt' },
    });
  });

  it('names the rule of a refusal, its class and action, as for one of a server', () => {
    expect(at('bounced')).toMatchObject({
      outcome: { smtp: { ruleId: 'bad-mailbox-code', class: 'mailbox' } },
      action: 'bounce_and_suppress',
    });
    expect(at('soft-bounced')).toMatchObject({
      outcome: { reason: 'temporary', smtp: { ruleId: expect.any(String), class: expect.any(String) } },
      action: 'retry',
    });
    expect(at('delivered')).not.toHaveProperty('action');
  });

  it('defers twice, two seconds apart, and then delivers', () => {
    const nextAttemptAt = new Date(NOW.getTime() + 2_000);
    expect(at('soft-bounced', 1).outcome).toMatchObject({ kind: 'deferred', nextAttemptAt });
    expect(at('soft-bounced', 2).outcome).toMatchObject({ kind: 'deferred', nextAttemptAt });
    expect(at('soft-bounced', 3).outcome).toMatchObject({ kind: 'delivered', smtp: { code: 250 } });
  });

  it('blocks as a suppression would', () => {
    expect(at('suppressed').outcome).toMatchObject({ kind: 'failed', reason: 'blocked' });
  });

  it('looks at the local part before a plus, in any case', () => {
    expect(at('Bounced+order-7').outcome.kind).toBe('bounced');
  });

  it('delivers to every other domain, and to addresses that are none', () => {
    for (const recipient of ['bounced@example.com', 'bounced', '', '@', 'bounced@simulator.waybill.test.example']) {
      expect(simulate({ recipient, attempt: 1, now: NOW }).outcome.kind).toBe('delivered');
    }
  });

  it('follows the configured domain', () => {
    const delivery = { attempt: 1, now: NOW, simulatorDomain: 'Sim.Example' };
    expect(simulate({ ...delivery, recipient: 'bounced@sim.example' }).outcome.kind).toBe('bounced');
    expect(simulate({ ...delivery, recipient: `bounced@${DEFAULT_SIMULATOR_DOMAIN}` }).outcome.kind).toBe('delivered');
  });

  it('simulates any address, always within the bounds of the facts', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), fc.integer({ min: 1, max: 50 }), (localPart, attempt) => {
        const { outcome } = at(localPart, attempt);
        if ('smtp' in outcome) expect(outcome.smtp?.response?.length).toBeLessThanOrEqual(500);
      }),
    );
  });
});
