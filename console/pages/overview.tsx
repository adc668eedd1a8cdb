import type { Audit, Peer, Webhook } from '../../sdk/generated/api.ts'
import { NEWEST_ROWS, OVERVIEW_EVERY_MS, OVERVIEW_ROWS_MAX, PAGE_ROWS } from '../limits.ts'
import { AuditReason, AuditResult } from '../parts/audit.tsx'
import {
  type Column,
  count,
  Failure,
  Page,
  Section,
  Shown,
  State,
  Table,
  Time,
  useNow,
} from '../parts/basics.tsx'
import { FirstRecord } from '../parts/first-record.tsx'
import { Live } from '../parts/live.tsx'
import { Records } from '../parts/records.tsx'
import { useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import { has, type Session } from '../session.ts'
import { ago } from '../times.ts'

export function OverviewPage({ session }: { session: Session }) {
  const { client } = session
  const newest = useQuery(
    (signal) => client.records.list({ limit: NEWEST_ROWS }, { signal }).toArray(NEWEST_ROWS),
    [],
    OVERVIEW_EVERY_MS,
  )
  const peers = useQuery(
    (signal) => client.peers.list({ limit: OVERVIEW_ROWS_MAX }, { signal }).page(),
    [],
    OVERVIEW_EVERY_MS,
  )
  const isEmpty = newest.data?.length === 0
  return (
    <Page title="Overview">
      <Figures session={session} />
      {isEmpty && (
        <Section title="First record">
          <FirstRecord />
        </Section>
      )}
      <Live session={session} />
      {!isEmpty && (
        <Section title="Newest records">
          <Shown of={newest}>
            {(records) => <Records caption="Newest records" records={records} session={session} />}
          </Shown>
        </Section>
      )}
      <div class="two">
        {has(session, 'webhooks:manage') && (
          <Section title="Webhooks">
            <Webhooks session={session} />
          </Section>
        )}
        <Section title="Peers">
          <Shown of={peers}>{({ data }) => <Peers peers={data} />}</Shown>
        </Section>
      </div>
    </Page>
  )
}

function Figures({ session: { client, ledger } }: { session: Session }) {
  const audits = useQuery(
    (signal) => client.audits.list({ limit: PAGE_ROWS }, { signal }).page(),
    [],
    OVERVIEW_EVERY_MS,
  )
  const checkpoints = useQuery(
    (signal) => client.checkpoints.list({ limit: 1 }, { signal }).page(),
    [],
    OVERVIEW_EVERY_MS,
  )
  const nowMs = useNow()
  const [newest] = checkpoints.data?.data ?? []
  const audit = audits.data?.data.find(({ state }) => state === 'done' || state === 'failed')
  return (
    <>
      {ledger.closed !== null && (
        <p class="note bad" role="alert">
          The ledger accepts no entries: {CLOSED_BECAUSE[ledger.closed]}.
        </p>
      )}
      {audit?.report?.failure && <Fault audit={audit} />}
      <dl class="figures">
        <div>
          <dt>Entries</dt>
          <dd>{ledger.size.toLocaleString('en')}</dd>
        </div>
        <div>
          <dt>Newest checkpoint</dt>
          <dd>
            {newest === undefined ? '–' : ago(Date.parse(newest.publishedAt), nowMs)}
            {newest && (
              <small>
                <a href={linkTo('checkpoints', `${newest.size}`)}>{count(newest.size, 'entry', 'entries')}</a>
                , {newest.size >= ledger.size ? 'covers all' : `${ledger.size - newest.size} not covered yet`}
              </small>
            )}
          </dd>
        </div>
        <div>
          <dt>Last audit by the server</dt>
          <dd>
            <a href={linkTo('audits')}>{audit === undefined ? 'none yet' : <AuditResult audit={audit} />}</a>
            <small>
              {audit?.finishedAt && <Time at={audit.finishedAt} />}
              {audit?.report && `, ${count(audit.report.entries, 'entry', 'entries')}`}
              {audit?.error && `, ${audit.error.reason}`}
            </small>
          </dd>
        </div>
      </dl>
      {(audits.error ?? checkpoints.error) !== null && (
        <Failure error={(audits.error ?? checkpoints.error)!} />
      )}
    </>
  )
}

function Fault({ audit }: { audit: Audit }) {
  return (
    <p class="note bad" role="alert">
      The ledger does not verify: <AuditReason audit={audit} />
    </p>
  )
}

const CLOSED_BECAUSE = {
  frozen: 'its operator has frozen it',
  restored: 'it is an older backup of itself',
  moving: 'it is being moved to another deployment',
  moved: 'it is in another deployment',
} as const

const WEBHOOK_COLUMNS: Column<Webhook>[] = [
  { name: 'To', cell: ({ url, description }) => description ?? url },
  { name: 'State', cell: ({ state, reason }) => <State state={reason ?? state} /> },
  { name: 'Behind', cell: ({ standing }) => <span class="number">{standing.behind}</span> },
  { name: 'Dead letters', cell: ({ standing }) => <span class="number">{standing.dead}</span> },
  { name: 'Last success', cell: ({ standing }) => <Time at={standing.lastSuccessAt} /> },
]

function Webhooks({ session: { client } }: { session: Session }) {
  const asked = useQuery(
    (signal) => client.webhooks.list({ limit: OVERVIEW_ROWS_MAX }, { signal }).page(),
    [],
    OVERVIEW_EVERY_MS,
  )
  return (
    <Shown of={asked}>
      {({ data }) => (
        <Table
          caption="Webhooks"
          columns={WEBHOOK_COLUMNS}
          rows={data}
          keyOf={({ id }) => id}
          empty="None. A webhook sends events to a URL of yours."
        />
      )}
    </Shown>
  )
}

const PEER_COLUMNS: Column<Peer>[] = [
  { name: 'Peer', cell: ({ id, name }) => <a href={linkTo('peers', id)}>{name}</a> },
  { name: 'State', cell: ({ state, drain }) => <State state={drain?.failingSince ? 'failing' : state} /> },
  { name: 'Behind', cell: ({ drain }) => <span class="number">{drain?.behind ?? '–'}</span> },
  { name: 'Dead letters', cell: ({ drain }) => <span class="number">{drain?.deadLetters ?? '–'}</span> },
]

function Peers({ peers }: { peers: readonly Peer[] }) {
  return (
    <Table
      caption="Peers"
      columns={PEER_COLUMNS}
      rows={peers}
      keyOf={({ id }) => id}
      empty="None. A peer is a ledger of another organisation that shares records with this one."
    />
  )
}
