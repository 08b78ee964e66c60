/** The notification channel on which accepting processes wake workers. */
export const WORK_CHANNEL = 'waybill_work';
