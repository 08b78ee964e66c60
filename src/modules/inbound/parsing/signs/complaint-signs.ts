import type { Sign } from './message-view';

/** Complaints from before ARF: a plain mail with ours attached. */
export const COMPLAINT_SIGNS: readonly (Sign & { readonly feedbackType: string })[] = [
  { id: 'hotmail', subject: /complaint about message from/i, feedbackType: 'abuse' },
  { id: 'aol', subject: /email feedback report for ip|client tos notification/i, feedbackType: 'abuse' },
  { id: 'yahoo', from: /feedback@arf\./i, feedbackType: 'abuse' },
  { id: 'opt-out', subject: /opt-out request|optout request|unsubscribe complaint/i, feedbackType: 'opt-out' },
];
