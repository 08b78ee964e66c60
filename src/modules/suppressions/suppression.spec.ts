import { isOwnReason, strongest, SUPPRESSION_REASONS } from './suppression';

describe('of several reasons', () => {
  it('the strongest counts, in whatever order they are given', () => {
    expect(strongest(['soft_bounce', 'spam_complaint', 'manual'])).toBe('spam_complaint');
    expect(strongest(['unsubscribe', 'manual'])).toBe('manual');
    expect(strongest(['soft_bounce', 'unsubscribe'])).toBe('unsubscribe');
    expect(strongest([])).toBeUndefined();
  });

  it('manual and unsubscribe alone are the customer’s', () => {
    expect(SUPPRESSION_REASONS.filter(isOwnReason)).toEqual(['manual', 'unsubscribe']);
  });
});
