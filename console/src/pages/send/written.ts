import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { DRAFTS, useSession } from '../../api/session';

export interface Written {
  /** Undefined for the usual sender. */
  readonly from?: string;
  readonly to: string;
  readonly subject: string;
  readonly html: string;
}

const EXAMPLE: Written = {
  ...{ to: '', subject: 'Hello from Waybill' },
  html: '<h1>It works</h1>\n<p>This is a <strong>test</strong> mail.</p>',
};

/** What is written and not sent yet: kept as long as the tab, also when the session ends. */
export function useWritten() {
  const client = useQueryClient();
  const { organization, key } = useSession();
  const place = [DRAFTS, organization?.id, 'mail', key.mode];
  const [mail, setMail] = useState(() => client.getQueryData<Written>(place) ?? EXAMPLE);
  const set = (field: keyof Written) => (value: string) => {
    const next = { ...mail, [field]: value };
    setMail(next);
    client.setQueryDefaults(place, { gcTime: Infinity });
    client.setQueryData<Written>(place, next);
  };
  const forget = () => client.removeQueries({ queryKey: place });
  return { mail, set, forget };
}
