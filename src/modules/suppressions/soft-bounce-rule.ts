/** Three soft bounces within 30 days suppress an address for 14 days. */
export const SOFT_BOUNCE_RULE = { bounces: 3, windowDays: 30, suppressedDays: 14 } as const;
