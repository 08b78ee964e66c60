import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get } from '../../api/client';
import type { Data, PrivacyHistory } from '../../api/types';
import { Button } from '../../parts/button';
import { useFilters } from '../../parts/filters';
import { type Column, ListCard, OffsetPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { RequiresRight, useRights } from '../../parts/rights';
import { Badge, Foreign, Time } from '../../parts/text';
import { AskErasure, AskExport } from './ask-dialogs';
import { ErasureDialog, ExportDialog } from './result-dialogs';

type Entry = PrivacyHistory['requests'][number];

const KINDS: Readonly<Record<string, string>> = { article_15_access: 'Export', article_17_erasure: 'Erasure' };
const LIMIT = 50;

export default function Privacy() {
  return (
    <RequiresRight scope="privacy:read">
      <PrivacyPage />
    </RequiresRight>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { name: 'Person', look: 'break', cell: ({ email }) => <Foreign>{email}</Foreign> },
  { name: 'Request', isBare: true, cell: ({ type }) => KINDS[type] },
  { name: 'State', isBare: true, cell: ({ status }) => <Badge status={status} /> },
  { name: 'Requested', look: 'soft', cell: ({ requestedAt }) => <Time at={requestedAt} /> },
  { name: 'Completed', look: 'soft', cell: ({ completedAt }) => (completedAt ? <Time at={completedAt} /> : 'not yet') },
];

function PrivacyPage() {
  const rights = useRights();
  const [asks, setAsks] = useState<'export' | 'erasure'>();
  const [shown, setShown] = useState<Entry>();
  const [{ offset }, filter] = useFilters(['offset']);
  const at = Math.max(0, Number(offset) || 0);
  const turn = (to: number) => filter({ offset: to <= 0 ? '' : String(to) });
  const close = () => setShown(undefined);
  const query = useQuery({
    queryKey: ['privacy', at],
    queryFn: () => get<Data<PrivacyHistory>>('/v1/gdpr/status', { limit: LIMIT, offset: at }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.data.requests.some(({ status }) => status === 'pending' || status === 'processing') ? 1_000 : 30_000,
  });
  const ask = rights('privacy:manage') && (
    <>
      <Button onClick={() => setAsks('export')}>Export a person's data</Button>
      <Button kind="danger" onClick={() => setAsks('erasure')}>
        Erase a person's data
      </Button>
    </>
  );
  const actions: Column<Entry> = {
    name: 'Actions',
    isHidden: true,
    cell: (entry) => (
      <Button small onClick={() => setShown(entry)}>
        {entry.type === 'article_17_erasure' ? 'Receipt' : 'Result'}
        <span className="visually-hidden"> for {entry.email}</span>
      </Button>
    ),
  };
  return (
    <Page title="Privacy" lead="Requests of people about their data: a copy of it, or its erasure." actions={ask}>
      <ListCard
        query={query}
        rowsOf={({ data }) => data.requests}
        keyOf={({ requestId }) => requestId}
        caption="Privacy requests, newest first"
        columns={[...COLUMNS, actions]}
        empty={{
          icon: 'privacy',
          title: 'No requests yet',
          text: 'Requests appear here with their results and receipts.',
        }}
        pager={({ data: { requests, total } }) => (
          <OffsetPager offset={at} shown={requests.length} total={total} limit={LIMIT} turn={turn} />
        )}
      />
      {asks === 'export' && <AskExport onClose={() => setAsks(undefined)} />}
      {asks === 'erasure' && <AskErasure onClose={() => setAsks(undefined)} />}
      {shown?.type === 'article_15_access' && <ExportDialog id={shown.requestId} onClose={close} />}
      {shown?.type === 'article_17_erasure' && <ErasureDialog id={shown.requestId} onClose={close} />}
    </Page>
  );
}
