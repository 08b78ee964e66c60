import fc from 'fast-check';

/** One recipient of one email, as named by return paths and links in mail. */
export const DELIVERY_TARGET = {
  organizationOrdinal: 7,
  mode: 'live' as const,
  emailId: '0192f3a0-1111-7abc-8def-0123456789ab',
  position: 3,
};

export const anyDeliveryTarget = fc.record({
  organizationOrdinal: fc.integer({ min: 0, max: 0xffff_ffff }),
  mode: fc.constantFrom('live' as const, 'test' as const),
  emailId: fc.uuid(),
  position: fc.integer({ min: 0, max: 255 }),
});
