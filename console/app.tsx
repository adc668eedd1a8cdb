import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { AuthenticationError } from '../sdk/errors.ts'
import { useAsked } from './asking.ts'
import { AGENTS_MAX, OVERVIEW_EVERY_MS, SCAN_ROWS } from './limits.ts'
import { useRoute } from './navigate.ts'
import { AgentsPage } from './pages/agents.tsx'
import { CaseFilePage } from './pages/case-file.tsx'
import { CheckpointsPage } from './pages/checkpoints.tsx'
import { DayPage } from './pages/day.tsx'
import { EntrancePage } from './pages/entrance.tsx'
import { EntryPage } from './pages/entry.tsx'
import { KeepingPage } from './pages/keeping.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { PeersPage } from './pages/peers.tsx'
import { RecordPage } from './pages/record.tsx'
import { RunPage } from './pages/run.tsx'
import { SearchPage } from './pages/search.tsx'
import { VerifyPage } from './pages/verify.tsx'
import { WorkPage } from './pages/work.tsx'
import { Failure, Id, Page } from './parts/basics.tsx'
import { linkTo, type Route } from './router.ts'
import { connect, forgetKey, keepKey, type Session, takeKey } from './session.ts'

const MENU = [
  ['', 'Overview'],
  ['day', 'Day'],
  ['search', 'Search'],
  ['work', 'Waiting for me'],
  ['agents', 'Agents and keys'],
  ['checkpoints', 'Checkpoints'],
  ['peers', 'Peers'],
  ['keeping', 'Keeping'],
  ['case', 'Case file'],
  ['verify', 'Verify a file'],
] as const

/** Asks for a key, opens its ledger, and shows the page that the address names. */
export function App() {
  const [key, setKey] = useState(takeKey)
  useEffect(() => {
    // A link with a key, opened in a tab that shows the console already. Before `useRoute` listens, which must not see the key.
    const read = () => setKey(takeKey())
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const route = useRoute()
  useTitleAndFocus(route)
  const enter = (given: string) => {
    keepKey(given)
    setKey(given)
  }
  const leave = () => {
    forgetKey()
    setKey(null)
  }
  if (key === null && route.page !== 'verify') return <EntrancePage enter={enter} />
  if (key === null)
    return (
      <Shell route={route}>
        <VerifyPage />
      </Shell>
    )
  return <Opened apiKey={key} route={route} leave={leave} />
}

function Opened({ apiKey, route, leave }: { apiKey: string; route: Route; leave: () => void }) {
  // One for all that is asked: what follows events would begin anew with another.
  const client = useMemo(() => connect(apiKey), [apiKey])
  const { data, error } = useAsked((signal) => open(client, signal), [apiKey], OVERVIEW_EVERY_MS)
  const [session, setSession] = useState<Session | null>(null)
  useEffect(() => {
    if (data !== null) setSession(data)
  }, [data])
  if (error instanceof AuthenticationError)
    return <EntrancePage enter={() => {}} refused={error} leave={leave} />
  if (session === null && route.page === 'verify')
    return (
      <Shell route={route}>
        <VerifyPage />
      </Shell>
    )
  if (session === null) {
    return (
      <div class="entrance">
        <Page title="Tallystick">
          {error === null ? <p class="quiet">Opening the ledger…</p> : <Failure error={error} />}
          {error !== null && <Leave leave={leave} />}
        </Page>
      </div>
    )
  }
  return (
    <Shell route={route} session={session} leave={leave}>
      {error !== null && <Failure error={error} />}
      <Shown route={route} session={session} />
    </Shell>
  )
}

function Shown({ route, session }: { route: Route; session: Session }) {
  const { page, id, query } = route
  switch (page) {
    case '':
      return <OverviewPage session={session} />
    case 'day':
      return <DayPage session={session} query={query} />
    case 'search':
      return <SearchPage session={session} query={query} />
    case 'record':
      return <RecordPage key={id} session={session} id={id} query={query} />
    case 'entry':
      return <EntryPage key={id} session={session} seq={id} />
    case 'run':
      return <RunPage key={`${id}?${query}`} session={session} id={id} query={query} />
    case 'agents':
      return <AgentsPage session={session} id={id} />
    case 'checkpoints':
      return <CheckpointsPage session={session} size={id} />
    case 'peers':
      return <PeersPage session={session} id={id} />
    case 'work':
      return <WorkPage session={session} />
    case 'keeping':
      return <KeepingPage session={session} />
    case 'case':
      return <CaseFilePage session={session} />
    case 'verify':
      return <VerifyPage />
    default:
      return <Page title="There is no such page">{null}</Page>
  }
}

function Shell({
  route,
  session,
  leave,
  children,
}: {
  route: Route
  session?: Session
  leave?: () => void
  children: ComponentChildren
}) {
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.querySelector('h1')?.focus()}>
        Skip to the page
      </button>
      <header class="side">
        <a class="brand" href="#/">
          Tallystick
        </a>
        <nav aria-label="Pages">
          <ul>
            {MENU.map(([page, name]) => (
              <li key={page}>
                <a href={linkTo(page)} {...(route.page === page && { 'aria-current': 'page' })}>
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {session && leave && (
          <div class="who">
            <p>{session.ledger.name}</p>
            <p>
              <Id id={session.ledger.id} short />
            </p>
            <p>
              key {session.ledger.key.name},{' '}
              {session.ledger.key.scopes.length === 1
                ? '1 scope'
                : `${session.ledger.key.scopes.length} scopes`}
            </p>
            <Leave leave={leave} />
          </div>
        )}
      </header>
      <main>{children}</main>
    </div>
  )
}

function Leave({ leave }: { leave: () => void }) {
  return (
    <button type="button" class="do" onClick={leave}>
      Use another key
    </button>
  )
}

async function open(client: Session['client'], signal: AbortSignal): Promise<Session> {
  const [ledger, agents] = await Promise.all([
    client.ledger.get({ signal }),
    client.agents
      .list({ limit: SCAN_ROWS }, { signal })
      .toArray(AGENTS_MAX)
      .catch(() => []),
  ])
  return { client, ledger, names: new Map(agents.map(({ id, name }) => [id, name])) }
}

/** A page that opens has the focus at its heading, as one that is loaded would. */
function useTitleAndFocus({ page, id }: Route): void {
  useEffect(() => {
    const name = MENU.find(([one]) => one === page)?.[1] ?? page
    document.title = `${[id, name].filter(Boolean).join(' · ')} · Tallystick`
    if (document.activeElement !== document.body && document.activeElement !== null)
      document.querySelector('h1')?.focus()
  }, [page, id])
}
