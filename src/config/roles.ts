/** What a process does; `WAYBILL_ROLES` is a comma list of these, or `all`. */
export const ROLES = ['api', 'worker', 'inbound', 'dns'] as const;

export type Role = (typeof ROLES)[number];
