import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, get, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, PrivacyErasure, PrivacyExport, PrivacyHistory } from '../../api/types';
import { Button } from '../../parts/button';
import { download } from '../../parts/csv';
import { Dialog } from '../../parts/dialog';
import { Check, SelectField, TextField } from '../../parts/field';
import { bytes, count, words } from '../../parts/format';
import { Card, Facts, Page } from '../../parts/page';
import { Empty, InlineError, Loaded, Requires } from '../../parts/states';
import { Badge, Moment, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';

type Entry = PrivacyHistory['requests'][number];

const KINDS: Readonly<Record<string, string>> = { article_15_access: 'Export', article_17_erasure: 'Erasure' };
const LIMIT = 50;

export default function Privacy() {
  return (
    <Requires scope="privacy:read">
      <PrivacyPage />
    </Requires>
  );
}

function PrivacyPage() {
  const may = useMay();
  const [asks, setAsks] = useState<'export' | 'erasure'>();
  const [shown, setShown] = useState<Entry>();
  const [offset, setOffset] = useState(0);
  const query = useQuery({
    queryKey: ['privacy', offset],
    queryFn: () => get<Data<PrivacyHistory>>('/v1/gdpr/status', { limit: LIMIT, offset }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.data.requests.some(({ status }) => status === 'pending' || status === 'processing') ? 2_000 : 30_000,
  });
  return (
    <Page
      title="Privacy"
      lead="What people may ask of you: a copy of their data, or that it is erased."
      actions={
        may('privacy:manage') && (
          <>
            <Button onClick={() => setAsks('export')}>Export a person's data</Button>
            <Button kind="danger" onClick={() => setAsks('erasure')}>
              Erase a person's data
            </Button>
          </>
        )
      }
    >
      <Card flush>
        <Loaded query={query}>
          {({ data: { requests, total } }) =>
            requests.length === 0 ? (
              <Empty icon="privacy" title="Nobody has asked yet">
                Requests stand here with their results and receipts.
              </Empty>
            ) : (
              <>
                <Requests requests={requests} show={setShown} />
                <div className="pager">
                  <span>
                    {count(offset + 1)}–{count(offset + requests.length)} of {count(total)}
                  </span>
                  {total > LIMIT && (
                    <span className="row">
                      <Button small disabled={offset === 0} onClick={() => setOffset(offset - LIMIT)}>
                        Newer
                      </Button>
                      <Button small disabled={offset + LIMIT >= total} onClick={() => setOffset(offset + LIMIT)}>
                        Older
                      </Button>
                    </span>
                  )}
                </div>
              </>
            )
          }
        </Loaded>
      </Card>
      {asks && <AskDialog kind={asks} onClose={() => setAsks(undefined)} />}
      {shown?.type === 'article_15_access' && <ExportDialog id={shown.requestId} onClose={() => setShown(undefined)} />}
      {shown?.type === 'article_17_erasure' && (
        <ErasureDialog id={shown.requestId} onClose={() => setShown(undefined)} />
      )}
    </Page>
  );
}

function Requests({ requests, show }: { requests: readonly Entry[]; show: (entry: Entry) => void }) {
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Privacy requests, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Person</th>
            <th scope="col">Request</th>
            <th scope="col">State</th>
            <th scope="col">Asked</th>
            <th scope="col">Done</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {requests.map((entry) => (
            <tr key={entry.requestId}>
              <td className="break">
                <bdi>{entry.email}</bdi>
              </td>
              <td>{KINDS[entry.type]}</td>
              <td>
                <Badge status={entry.status} />
              </td>
              <td className="soft" data-label="Asked">
                <Time at={entry.requestedAt} />
              </td>
              <td className="soft" data-label="Done">
                {entry.completedAt ? <Time at={entry.completedAt} /> : 'not yet'}
              </td>
              <td>
                <Button small onClick={() => show(entry)}>
                  {entry.type === 'article_17_erasure' ? 'Receipt' : 'Result'}
                  <span className="visually-hidden"> for {entry.email}</span>
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AskDialog({ kind, onClose }: { kind: 'export' | 'erasure'; onClose: () => void }) {
  const client = useQueryClient();
  const toast = useToast();
  const [email, setEmail] = useState('');
  const [format, setFormat] = useState('json');
  const [reason, setReason] = useState('');
  const [sure, setSure] = useState(false);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const isErasure = kind === 'erasure';
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      if (isErasure)
        await post('/v1/gdpr/delete-request', { email: email.trim(), confirmDelete: true, ...(reason && { reason }) });
      else await post('/v1/gdpr/export', { email: email.trim(), format });
      await client.invalidateQueries({ queryKey: ['privacy'] });
      toast(isErasure ? 'The erasure has begun' : 'The export has begun');
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const said = error instanceof ApiError ? error.validation : {};
  return (
    <Dialog title={isErasure ? "Erase a person's data" : "Export a person's data"} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Address of the person"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={said.email?.join('. ')}
        />
        {isErasure ? (
          <>
            <TextField
              label="Reason"
              value={reason}
              maxLength={500}
              onChange={(event) => setReason(event.target.value)}
            />
            <Check
              label="I know that there is no way back"
              note="Contents, addresses and event data of this person are erased from all emails. Statistics stay; what has to be kept is named in the receipt."
              checked={sure}
              onChange={setSure}
            />
          </>
        ) : (
          <SelectField
            label="Format"
            value={format}
            options={[
              { value: 'json', label: 'JSON' },
              { value: 'csv', label: 'CSV' },
            ]}
            onChange={({ target }) => setFormat(target.value)}
          />
        )}
        {said.email === undefined && <InlineError error={error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button
            kind={isErasure ? 'danger primary' : 'primary'}
            type="submit"
            busy={busy}
            disabled={isErasure && !sure}
          >
            {isErasure ? 'Erase' : 'Export'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function ExportDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['export', id],
    queryFn: () => get<Data<PrivacyExport>>(`/v1/gdpr/export/${id}`),
    refetchInterval: ({ state }) => (state.data?.data.status === 'processing' ? 2_000 : false),
  });
  const save = ({ format, exportedData }: PrivacyExport) => {
    if (!exportedData) return;
    if (format === 'csv') {
      for (const [section, text] of Object.entries(exportedData)) download(`${section}.csv`, String(text));
      return;
    }
    download(`export-${id}.json`, JSON.stringify(exportedData, null, 2), 'application/json');
  };
  return (
    <Dialog title="Export" onClose={onClose}>
      <Loaded query={query}>
        {({ data }) => (
          <>
            <Facts
              facts={[
                ['Person', <bdi key="email">{data.email}</bdi>],
                ['State', <Badge key="status" status={data.status} />],
                [
                  'Holds',
                  data.itemCounts &&
                    Object.entries(data.itemCounts)
                      .map(([name, value]) => `${count(value)} ${name}`)
                      .join(', '),
                ],
                ['Size', data.sizeBytes !== undefined && bytes(data.sizeBytes)],
                ['Deleted', data.expiresAt && <Moment at={data.expiresAt} />],
              ]}
            />
            <div className="dialog-actions">
              <Button onClick={onClose}>Close</Button>
              {data.exportedData && (
                <Button kind="primary" onClick={() => save(data)}>
                  Download
                </Button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

function ErasureDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['erasure', id],
    queryFn: () => get<Data<PrivacyErasure>>(`/v1/gdpr/delete-request/${id}`),
    refetchInterval: ({ state }) => (state.data?.data.status === 'processing' ? 2_000 : false),
  });
  return (
    <Dialog title="Receipt of an erasure" onClose={onClose}>
      <Loaded query={query}>
        {({ data }) => (
          <>
            <Facts
              facts={[
                ['Person', <bdi key="email">{data.email}</bdi>],
                ['State', <Badge key="status" status={data.status} />],
                ['Done', data.completedAt && <Moment at={data.completedAt} />],
                ...Object.entries(data.receipt ?? {}).map(
                  ([name, value]) => [words(name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()), count(value)] as const,
                ),
                ...data.retentionExceptions.map(
                  ({ category, reason, basis }) => [`Kept: ${category}`, `${words(reason)}. ${basis}`] as const,
                ),
              ]}
            />
            <div className="dialog-actions">
              <Button kind="primary" onClick={onClose}>
                Close
              </Button>
            </div>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}
