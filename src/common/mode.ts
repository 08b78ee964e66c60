/** Live mail leaves the service; test mail meets the simulator. Data of the two never mix. */
export type Mode = 'live' | 'test';

export const MODES: readonly Mode[] = ['live', 'test'];
