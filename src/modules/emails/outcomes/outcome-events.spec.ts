import { AT, email, recipient, recorded } from '../../../../test/factories/email-states';
import type { DeliveryOutcome, FailureReason } from '../../../delivery/ports/outcome';
import { applyOutcomes } from './apply-outcomes';

const bounce = { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'policy' } as const;

/** What the last event of the outcomes says, of a recipient whose server has said this before. */
function words(
  outcome: DeliveryOutcome,
  { lastResponse = null as string | null, address = 'r0@x.example', attempts = 0 } = {},
) {
  const state = { ...email(1), recipients: [{ ...recipient(0), lastResponse, address, attempts }] };
  return applyOutcomes(state, [recorded(0, outcome, AT)]).events.at(-1)?.data.explanation;
}

describe('the explanation in the event of an end', () => {
  it.each<[FailureReason, RegExp]>([
    ['blocked', /suppression list/],
    ['expired', /within its time/],
    ['cancelled', /cancelled before/],
    ['domain_removed', /domain.* removed/],
    ['poison', /Workers died/],
    ['content_unavailable', /content of the mail was not there/],
    ['operator', /operator .* ended/],
  ])('is there without a reply: %s', (reason, expected) => {
    expect(words({ kind: 'failed', reason })).toMatch(expected);
  });

  it('says which list, and that a recipient was erased', () => {
    const blocked = words({ kind: 'failed', reason: 'blocked', detail: 'hard_bounce' });
    expect(blocked).toMatch(/until it is taken off \(hard bounce\)$/);
    expect(words({ kind: 'failed', reason: 'cancelled', detail: 'erased' })).toMatch(/its recipient was erased$/);
  });

  it('keeps what the outcome itself explains', () => {
    expect(words({ ...bounce, explanation: 'The mailbox is full.' })).toBe('The mailbox is full.');
    expect(words({ ...bounce, explanation: 'The mailbox is full.' }, { lastResponse: '452 full' })).not.toContain(
      '452',
    );
  });

  it('is the refusal where there is no other explanation', () => {
    expect(words({ ...bounce, smtp: { response: '550 no' } })).toBe('The receiving server refused it: 550 no');
    expect(words(bounce)).toBe('The receiving server refused it');
  });

  it('ends with the last result where time alone ended it', () => {
    const expired = { kind: 'failed', reason: 'expired', explanation: 'It was tried 3 times' } as const;
    const exhausted = { ...bounce, reason: 'retries exhausted', explanation: 'It was tried 24 times' };
    for (const outcome of [expired, exhausted]) {
      expect(words(outcome, { lastResponse: '451 later' })).toBe(
        `${outcome.explanation}; the last result was: 451 later`,
      );
      expect(words(outcome, { attempts: 3 })).toBe(outcome.explanation);
    }
    const tried = { ...expired, smtp: { response: '451 later' } };
    expect(words(tried, { lastResponse: '451 later' })).toBe('It was tried 3 times');
  });

  it('names what kept the next attempt from beginning', () => {
    const expired = { kind: 'failed', reason: 'expired', explanation: 'No attempt could begin' } as const;
    expect(words(expired)).toBe('No attempt could begin; it was due, and its turn had not come');
    const behind = { ...expired, obstacle: 'mail to x.example was paused' };
    expect(words(behind)).toBe('No attempt could begin; mail to x.example was paused');
    expect(words(behind, { lastResponse: '451 later', attempts: 2 })).toBe(
      'No attempt could begin; mail to x.example was paused; the last result was: 451 later',
    );
    expect(words(behind, { address: 'erased-0@erased.invalid' })).toBe('It was not delivered within its time');
  });

  it('has nothing of a recipient who has been erased', () => {
    const outcome = { ...bounce, explanation: 'no r0@x.example here', smtp: { response: 'no r0@x.example here' } };
    const said = words(outcome, { address: 'erased-0@erased.invalid' });
    expect(said).toBe('The receiving server refused it');
  });
});
