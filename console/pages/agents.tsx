import type { Agent, ApiKey, SigningKey } from '../../sdk/generated/api.ts'
import { AGENTS_MAX, SCAN_ROWS } from '../limits.ts'
import { type Column, Facts, Id, Page, Section, Shown, State, Table, Time } from '../parts/basics.tsx'
import { useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'

/** Shows all agents with all keys, or one agent with its keys. `id`: id of an agent or a key. */
export function AgentsPage({ session, id }: { session: Session; id: string }) {
  return id.startsWith('agt_') ? (
    <OneAgent key={id} session={session} id={id} />
  ) : (
    <AllAgents session={session} wanted={id} />
  )
}

const AGENT_COLUMNS: Column<Agent>[] = [
  { name: 'Agent', cell: ({ id, name }) => <a href={linkTo('agents', id)}>{name}</a> },
  { name: 'Id', cell: ({ id }) => <Id id={id} short /> },
  { name: 'State', cell: ({ disabledAt }) => <State state={disabledAt === null ? 'active' : 'disabled'} /> },
  { name: 'Registered', cell: ({ registeredAt }) => <Time at={registeredAt} /> },
  { name: 'Records', cell: ({ id }) => <a href={linkTo('search', '', { actor: id })}>all it did</a> },
]

function AllAgents({ session: { client, names }, wanted }: { session: Session; wanted: string }) {
  const agents = useQuery(
    (signal) => client.agents.list({ limit: SCAN_ROWS }, { signal }).toArray(AGENTS_MAX),
    [],
  )
  const keys = useQuery(
    (signal) => client.keys.list({ limit: SCAN_ROWS }, { signal }).toArray(AGENTS_MAX),
    [],
  )
  const isWanted = ({ id }: ApiKey) => wanted === '' || id === wanted
  return (
    <Page title="Agents and keys">
      <Section title="Agents">
        <Shown of={agents}>
          {(found) => <Table caption="Agents" columns={AGENT_COLUMNS} rows={found} keyOf={({ id }) => id} />}
        </Shown>
      </Section>
      <Section title="API keys">
        <Shown of={keys}>{(found) => <Keys keys={found.filter(isWanted)} names={names} />}</Shown>
      </Section>
    </Page>
  )
}

function OneAgent({ session: { client, names }, id }: { session: Session; id: string }) {
  const agent = useQuery((signal) => client.agents.get(id, { signal }), [])
  const signing = useQuery(
    (signal) => client.agents.listSigningKeys(id, {}, { signal }).toArray(AGENTS_MAX),
    [],
  )
  const keys = useQuery(
    (signal) => client.keys.list({ limit: SCAN_ROWS }, { signal }).toArray(AGENTS_MAX),
    [],
  )
  return (
    <Page title={`Agent ${names.get(id) ?? id}`}>
      <Section title="Agent">
        <Shown of={agent}>
          {({ name, registeredAt, disabledAt }) => (
            <Facts
              facts={[
                ['Id', <Id key="id" id={id} />],
                ['Name', name],
                ['State', <State key="state" state={disabledAt === null ? 'active' : 'disabled'} />],
                ['Registered', <Time key="at" at={registeredAt} />],
                ['Disabled', disabledAt === null ? null : <Time at={disabledAt} />],
                [
                  'Records',
                  <a key="all" href={linkTo('search', '', { actor: id })}>
                    all it did
                  </a>,
                ],
              ]}
            />
          )}
        </Shown>
      </Section>
      <Section title="Signing keys">
        <Shown of={signing}>
          {(found) => (
            <Table
              caption="Signing keys"
              columns={SIGNING_COLUMNS}
              rows={found}
              keyOf={({ kid }) => kid}
              empty="None: the server signs for this agent."
            />
          )}
        </Shown>
      </Section>
      <Section title="API keys">
        <Shown of={keys}>
          {(found) => <Keys keys={found.filter((key) => key.agent === id)} names={names} />}
        </Shown>
      </Section>
    </Page>
  )
}

const SIGNING_COLUMNS: Column<SigningKey>[] = [
  { name: 'Kid', cell: ({ kid }) => <Id id={kid} /> },
  { name: 'Algorithm', cell: ({ alg }) => alg },
  { name: 'State', cell: ({ revokedAt }) => <State state={revokedAt === null ? 'active' : 'revoked'} /> },
  { name: 'Required', cell: ({ required }) => (required ? 'signs everything' : 'no') },
  { name: 'Registered', cell: ({ seq }) => <a href={linkTo('entry', `${seq}`)}>entry {seq}</a> },
]

function Keys({ keys, names }: { keys: readonly ApiKey[]; names: ReadonlyMap<string, string> }) {
  const columns: Column<ApiKey>[] = [
    { name: 'Key', cell: ({ name }) => name },
    { name: 'Id', cell: ({ id }) => <Id id={id} short /> },
    { name: 'State', cell: (key) => <State state={stateOf(key)} /> },
    { name: 'Agent', cell: ({ agent }) => <a href={linkTo('agents', agent)}>{names.get(agent) ?? agent}</a> },
    { name: 'Scopes', cell: ({ scopes }) => <code>{scopes.join(' ')}</code> },
    { name: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { name: 'Expires', cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />) },
  ]
  return (
    <Table
      caption="API keys"
      columns={columns}
      rows={keys}
      keyOf={({ id }) => id}
      empty={
        <>
          None: nobody can write as this agent.{' '}
          <code>npx tallystick keys create NAME --agent AGENT --scopes records:write</code> makes one.
        </>
      }
    />
  )
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) < Date.now() ? 'expired' : 'active'
}
