import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { AuthenticationError } from '../sdk/errors.ts'
import { plain } from '../sdk/plain.ts'
import { AGENTS_MAX, OVERVIEW_EVERY_MS, SCAN_ROWS } from './limits.ts'
import { useRoute } from './navigate.ts'
import { EntrancePage } from './pages/entrance.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { VerifyPage } from './pages/verify.tsx'
import { count, Failure, Id, Page } from './parts/basics.tsx'
import { useQuery } from './queries.ts'
import { linkTo, type Route } from './router.ts'
import { connect, forgetKey, type Session, storeKey, takeKey } from './session.ts'

const MENU = [
  ['', 'Overview'],
  ['day', 'Day'],
  ['search', 'Search'],
  ['work', 'Waiting'],
  ['agents', 'Agents and keys'],
  ['checkpoints', 'Checkpoints'],
  ['audits', 'Audits'],
  ['peers', 'Peers'],
  ['retention', 'Retention'],
  ['case', 'Case file'],
  ['verify', 'Verify a file'],
] as const

/** Asks the reader for a key, opens the key's ledger, and shows the page that the address names. */
export function App() {
  const [key, setKey] = useState(takeKey)
  useEffect(() => {
    // `read` takes the key from a link that is opened in a tab of the console. The listener is added before that of
    // `useRoute`, so that `useRoute` never gets an address with the key.
    const read = () => setKey(takeKey())
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const route = useRoute()
  useTitleAndFocus(route)
  const enter = (given: string) => {
    storeKey(given)
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
  // All requests use one client, because a new client would restart the event stream.
  const client = useMemo(() => connect(apiKey), [apiKey])
  const { data: ledger, error } = useQuery(
    (signal) => client.ledger.get({ signal }),
    [apiKey],
    OVERVIEW_EVERY_MS,
  )
  const { data: names } = useQuery((signal) => readNames(client, signal), [apiKey], OVERVIEW_EVERY_MS)
  const [session, setSession] = useState<Session | null>(null)
  useEffect(() => {
    if (ledger !== null) setSession({ client, ledger, names: names ?? NO_NAMES })
  }, [ledger, names])
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

type PageProps = { readonly route: Route; readonly session: Session }

/**
 * All pages except the overview. They are loaded after the ledger is open, so that the first view does not wait for
 * them.
 */
let rest: typeof import('./pages/rest.tsx') | null = null

function Shown(props: PageProps) {
  const [loaded, setLoaded] = useState(rest)
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    import('./pages/rest.tsx').then((pages) => {
      rest = pages
      setLoaded(pages)
    }, setError)
  }, [])
  if (props.route.page === '') return <OverviewPage session={props.session} />
  if (loaded !== null) return <loaded.RestPage {...props} />
  return error === null ? <p class="quiet">Loading…</p> : <Failure error={error} />
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
      <Side route={route}>
        {session && leave && (
          <div class="who">
            <p>{session.ledger.name}</p>
            <p>
              <Id id={session.ledger.id} short />
            </p>
            <p>
              key {session.ledger.key.name}, {count(session.ledger.key.scopes.length, 'scope')}
            </p>
            <Leave leave={leave} />
          </div>
        )}
      </Side>
      <main>{children}</main>
    </div>
  )
}

/** List of pages, with the name of the ledger. On a phone it is one line with a button that unfolds it. */
function Side({ route, children }: { route: Route; children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => setIsOpen(false), [route])
  useEffect(() => {
    if (!isOpen) return
    const fold = (event: Event) => {
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape'
      if (!isEscape && !(event.type === 'click' && (event.target as Element).closest('a'))) return
      setIsOpen(false)
      if (isEscape) button.current?.focus()
    }
    addEventListener('keydown', fold)
    addEventListener('click', fold)
    return () => {
      removeEventListener('keydown', fold)
      removeEventListener('click', fold)
    }
  }, [isOpen])
  return (
    <header class={`side ${isOpen ? 'open' : ''}`}>
      <div class="top">
        <a class="brand" href="#/">
          Tallystick
        </a>
        <button
          type="button"
          class="do unfold"
          ref={button}
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setIsOpen(!isOpen)}
        >
          Menu
        </button>
      </div>
      <div id="menu" class="menu">
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
        {children}
      </div>
    </header>
  )
}

function Leave({ leave }: { leave: () => void }) {
  return (
    <button type="button" class="do" onClick={leave}>
      Use another key
    </button>
  )
}

const NO_NAMES: Session['names'] = new Map()

/** Maps ids of agents to names. Returns an empty map if the key may not read the names. Pages then show ids. */
async function readNames(client: Session['client'], signal: AbortSignal): Promise<Session['names']> {
  const agents = await client.agents
    .list({ limit: SCAN_ROWS }, { signal })
    .toArray(AGENTS_MAX)
    .catch(() => [])
  return new Map(agents.map(({ id, name }) => [id, name]))
}

/** Sets the title of the browser's tab. Moves the focus to the heading of the page, as when a browser loads a page. */
function useTitleAndFocus({ page, id }: Route): void {
  useEffect(() => {
    const name = MENU.find(([one]) => one === page)?.[1] ?? page
    document.title = plain(`${[id, name].filter(Boolean).join(' · ')} · Tallystick`)
    if (document.activeElement !== document.body && document.activeElement !== null)
      document.querySelector('h1')?.focus()
  }, [page, id])
}
