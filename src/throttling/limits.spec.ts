import { ConfigurationError } from '../config/load-config';
import { limitsWith } from './limits';

describe('limitsWith', () => {
  it('has the limits of the contract', () => {
    expect(limitsWith({})).toEqual({
      send: { limit: 600, windowSeconds: 60 },
      batch: { limit: 60, windowSeconds: 60 },
      reads: { limit: 1_000, windowSeconds: 60 },
      stats: { limit: 120, windowSeconds: 60 },
      writes: { limit: 100, windowSeconds: 60 },
      'domain-writes': { limit: 60, windowSeconds: 3_600 },
      'gdpr-export': { limit: 30, windowSeconds: 86_400 },
      'gdpr-delete': { limit: 10, windowSeconds: 86_400 },
      'api-key-writes': { limit: 30, windowSeconds: 3_600 },
      'api-key-revocations': { limit: 100, windowSeconds: 60 },
      unsubscribe: { limit: 300, windowSeconds: 60 },
      'console-sign-in': { limit: 20, windowSeconds: 60 },
      'sign-ins': { limit: 60, windowSeconds: 3_600 },
      operator: { limit: 600, windowSeconds: 60 },
      organization: { limit: 10_000, windowSeconds: 60 },
      changes: { limit: 10_000, windowSeconds: 3_600 },
      'test-key': { limit: 500, windowSeconds: 3_600 },
    });
  });

  it('takes overrides of the limit and keeps the window', () => {
    expect(limitsWith({ 'gdpr-export': 5 })['gdpr-export']).toEqual({ limit: 5, windowSeconds: 86_400 });
  });

  it('refuses a name that is no limit', () => {
    expect(() => limitsWith({ sned: 5 })).toThrow(/unknown limit "sned"/);
    expect(() => limitsWith({ constructor: 5 })).toThrow(/unknown limit/);
    expect(() => limitsWith({ sned: 5 })).toThrow(ConfigurationError);
  });
});
