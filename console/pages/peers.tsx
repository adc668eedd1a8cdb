import type {
  Peer,
  PeerDeadLetter,
  PeerFork,
  PeerReconciliation,
  SharedRecord,
} from '../../sdk/generated/api.ts'
import { OVERVIEW_ROWS_MAX, PAGE_ROWS } from '../limits.ts'
import {
  type Column,
  count,
  Facts,
  Failure,
  Id,
  Lacking,
  Page,
  Section,
  Shown,
  State,
  Table,
  Time,
} from '../parts/basics.tsx'
import { useAct, useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import { has, type Session } from '../session.ts'
import { wordsOf } from '../words.ts'

/** Shows all peers, or one peer with its reconciliation. */
export function PeersPage({ session, id }: { session: Session; id: string }) {
  return id === '' ? <AllPeers session={session} /> : <OnePeer key={id} session={session} id={id} />
}

const number = (value: number | null | undefined) => (
  <span class="number">{value?.toLocaleString('en') ?? '–'}</span>
)

const COLUMNS: Column<Peer>[] = [
  { name: 'Peer', cell: ({ id, name }) => <a href={linkTo('peers', id)}>{name}</a> },
  { name: 'State', cell: ({ state, drain }) => <State state={drain?.failingSince ? 'failing' : state} /> },
  { name: 'Ledger', cell: ({ remote }) => (remote === null ? '–' : <Id id={remote.ledger} short />) },
  { name: 'Address', cell: ({ remote }) => remote?.url ?? '–' },
  { name: 'Behind', cell: ({ drain }) => number(drain?.behind) },
  { name: 'Dead letters', cell: ({ drain }) => number(drain?.deadLetters) },
  { name: 'Forks', cell: ({ drain }) => number(drain?.forks) },
  { name: 'Last success', cell: ({ drain }) => <Time at={drain?.lastSuccessAt ?? null} /> },
]

function AllPeers({ session: { client } }: { session: Session }) {
  const asked = useQuery((signal) => client.peers.list({ limit: OVERVIEW_ROWS_MAX }, { signal }).page(), [])
  return (
    <Page title="Peers">
      <Section title="Peers">
        <Shown of={asked}>
          {({ data }) => (
            <Table
              caption="Peers"
              columns={COLUMNS}
              rows={data}
              keyOf={({ id }) => id}
              empty={
                <>
                  This ledger shares records with nobody. <code>tallystick peers invite NAME</code> invites a
                  ledger of another server.
                </>
              }
            />
          )}
        </Shown>
      </Section>
    </Page>
  )
}

function OnePeer({ session, id }: { session: Session; id: string }) {
  const { client } = session
  const peer = useQuery((signal) => client.peers.get(id, { signal }), [])
  const reconciliation = useQuery((signal) => client.peers.reconciliation(id, { signal }), [])
  const shared = useQuery((signal) => client.peers.records(id, { limit: PAGE_ROWS }, { signal }).page(), [])
  const { isBusy, error, act } = useAct()
  const compare = () => act(() => client.peers.reconcile(id).then(reconciliation.reload))
  const forks = useQuery((signal) => client.peers.forks(id, { limit: PAGE_ROWS }, { signal }).page(), [])
  return (
    <Page title={`Peer ${peer.data?.name ?? id}`}>
      <Section title="Peering">
        <Shown of={peer}>{(found) => <Status peer={found} />}</Shown>
      </Section>
      <Section title="Reconciliation">
        <Shown of={reconciliation}>{(found) => <Reconciliation found={found} />}</Shown>
        {has(session, 'peers:manage') && (
          <button type="button" class="do" disabled={isBusy} onClick={compare}>
            Compare now
          </button>
        )}
        {error !== null && <Failure error={error} />}
      </Section>
      <Section title="Shared records">
        <Shown of={shared}>
          {({ data }) => (
            <Table
              caption="Shared records"
              columns={SHARED}
              rows={data}
              keyOf={({ id }) => id}
              empty={
                <>
                  None yet. <code>tallystick share RECORD --with {id}</code> shares one.
                </>
              }
            />
          )}
        </Shown>
      </Section>
      <div class="two">
        <Section title="Dead letters">
          {has(session, 'peers:manage') ? (
            <DeadLetters session={session} id={id} />
          ) : (
            <Lacking scope="peers:manage" />
          )}
        </Section>
        <Section title="Forks">
          <Shown of={forks}>
            {({ data }) => (
              <Table
                caption="Forks"
                columns={FORKS}
                rows={data}
                keyOf={({ leaf }) => leaf}
                empty="None: the peer never signed two entries for one position."
              />
            )}
          </Shown>
        </Section>
      </div>
    </Page>
  )
}

function DeadLetters({ session: { client }, id }: { session: Session; id: string }) {
  const asked = useQuery(
    (signal) => client.peers.deadLetters(id, { limit: PAGE_ROWS }, { signal }).page(),
    [],
  )
  return (
    <Shown of={asked}>
      {({ data }) => (
        <Table
          caption="Dead letters"
          columns={DEAD}
          rows={data}
          keyOf={({ seq }) => seq}
          empty="None: the peer accepted everything that was sent."
        />
      )}
    </Shown>
  )
}

function Status({ peer: { id, state, remote, drain, witness } }: { peer: Peer }) {
  return (
    <Facts
      facts={[
        ['Id', <Id key="id" id={id} />],
        ['State', <State key="state" state={state} />],
        ['Ledger', remote && <Id id={remote.ledger} />],
        ['Address', remote?.url],
        ['Behind', drain && number(drain.behind)],
        [
          'Failing since',
          drain?.failingSince ? (
            <>
              <Time at={drain.failingSince} />: {drain.lastError}
            </>
          ) : null,
        ],
        [
          'Has cosigned ours',
          witness && (witness.key === null ? 'not yet' : `up to ${witness.cosignedSize} entries`),
        ],
        ['Cosigned by us', witness && (witness.ownKey === null ? 'no' : `up to ${witness.seenSize} entries`)],
        ['Fork', witness?.fork ? <State state="two checkpoints of one size" tone="bad" /> : null],
      ]}
    />
  )
}

type Difference = NonNullable<PeerReconciliation['summary']>['differences'][number]

const DIFFERENCES: Column<Difference>[] = [
  { name: 'Record', cell: ({ record }) => <Id id={record} to={linkTo('record', record)} short /> },
  { name: 'Difference', cell: ({ difference }) => wordsOf(difference) },
  { name: 'Ours', cell: ({ ours }) => (ours === null ? '–' : `version ${ours.version}`) },
  { name: 'Theirs', cell: ({ theirs }) => (theirs === null ? '–' : `version ${theirs.version}`) },
]

/** Shows whether both sides have the same entries. A comparison that was not made is not shown as a fault. */
function Agreement({ found: { reconciled, reasons } }: { found: PeerReconciliation }) {
  if (reconciled) return <State state="both have the same" tone="good" />
  const faults = reasons.filter((reason) => reason !== 'not_asked')
  if (faults.length === 0) return <State state="not compared yet" tone="plain" />
  return (
    <>
      <State state="not the same" tone="bad" /> {faults.map(wordsOf).join(', ')}
    </>
  )
}

function Reconciliation({ found }: { found: PeerReconciliation }) {
  const { sent, received, summary } = found
  return (
    <>
      <p>
        <Agreement found={found} />
      </p>
      <Facts
        facts={[
          [
            'Sent',
            `${count(sent.records, 'record')} in ${count(sent.entries, 'entry', 'entries')}, ${sent.acknowledged} with a receipt, ${sent.inFlight} on their way`,
          ],
          [
            'Received',
            `${count(received.records, 'record')} in ${count(received.entries, 'entry', 'entries')}`,
          ],
          [
            'Compared',
            summary === null ? (
              'not yet'
            ) : (
              <>
                <Time at={summary.at} />: {count(summary.records, 'record')}, {count(summary.faults, 'fault')}
              </>
            ),
          ],
        ]}
      />
      {summary !== null && summary.differences.length > 0 && (
        <Table
          caption="Differences"
          columns={DIFFERENCES}
          rows={summary.differences}
          keyOf={({ record }) => record}
        />
      )}
    </>
  )
}

const SHARED: Column<SharedRecord>[] = [
  { name: 'Record', cell: ({ id }) => <Id id={id} to={linkTo('record', id)} short /> },
  { name: 'Home', cell: ({ role }) => (role === 'home' ? 'ours' : 'theirs') },
  { name: 'State', cell: ({ state }) => <State state={state} /> },
  { name: 'Type', cell: ({ type }) => <code>{type}</code> },
  { name: 'Shared', cell: ({ documents }) => wordsOf(documents) },
]

const DEAD: Column<PeerDeadLetter>[] = [
  { name: 'Entry', cell: ({ seq }) => <a href={linkTo('entry', `${seq}`)}>{seq}</a> },
  { name: 'Code', cell: ({ code }) => <code>{code}</code> },
  { name: 'Detail', cell: ({ detail }) => detail },
]

const FORKS: Column<PeerFork>[] = [
  {
    name: 'Record',
    cell: ({ record }) => (record === null ? '–' : <Id id={record} to={linkTo('record', record)} short />),
  },
  { name: 'Version', cell: ({ version }) => version },
  { name: 'Seen', cell: ({ seenAt }) => <Time at={seenAt} /> },
]
