import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { GetRecordsQuery } from '../../sdk/generated/api.ts'
import { FILTER_ENTRIES } from '../../src/proof/statement/record-filters.ts'
import { type Findings, type FoundRecord, find, READ_MEMBERS } from '../find.ts'
import { PAGE_ROWS, SCAN_RECORDS_MAX } from '../limits.ts'
import { linkOf } from '../links.ts'
import { go } from '../navigate.ts'
import { count, Failure, Page, Time } from '../parts/basics.tsx'
import { FirstRecord } from '../parts/first-record.tsx'
import { Records } from '../parts/records.tsx'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'

/** Filters of `GET /v1/records` for which this page has a field, with their labels. */
const FILTERS = FILTER_ENTRIES.flatMap(([name, { label }]) => (label ? [[name, label] as const] : []))
const STATES =
  'RECORDED CREATED ACTIVE SUBMITTED VERIFIED DISCREPANT ACCEPTED REJECTED CANCELLED EXPIRED'.split(' ')

/** Shows one field for any text, and filters that are part of the address. */
export function SearchPage({ session, query }: { session: Session; query: URLSearchParams }) {
  return (
    <Page title="Search">
      <Box key={`box ${query}`} session={session} query={query} />
      <FilterForm key={`${query}`} query={query} />
      <Results key={`r ${query}`} session={session} query={query} />
    </Page>
  )
}

function Box({ session, query }: { session: Session; query: URLSearchParams }) {
  const [text, setText] = useState(query.get('text') ?? '')
  const submit = (event: Event) => {
    event.preventDefault()
    if (text.trim() !== '') go(linkOf(text.trim(), session, Object.fromEntries(query)))
  }
  return (
    <search>
      <form onSubmit={submit}>
        <label class="wide">
          Any text, an id, the seq of an entry, a trace, or the name of an agent
          <input
            class="mono"
            value={text}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <button type="submit" class="do main">
          Find
        </button>
      </form>
    </search>
  )
}

function FilterForm({ query }: { query: URLSearchParams }) {
  const [given, setGiven] = useState<Record<string, string>>(() => Object.fromEntries(query))
  const set = (name: string, value: string) => setGiven({ ...given, [name]: value })
  const isOpen = [...query.keys()].some((name) => name !== 'text')
  const submit = (event: Event) => {
    event.preventDefault()
    go(linkTo('search', '', given))
  }
  return (
    <details open={isOpen}>
      <summary>Filters</summary>
      <form onSubmit={submit}>
        {FILTERS.map(([name, label]) => (
          <label key={name}>
            {label}
            <input
              value={given[name] ?? ''}
              placeholder={name.startsWith('recorded') ? '2026-11-20T00:00:00Z' : ''}
              onInput={({ currentTarget }) => set(name, currentTarget.value)}
            />
          </label>
        ))}
        <label>
          State
          <select
            value={given['state'] ?? ''}
            onChange={({ currentTarget }) => set('state', currentTarget.value)}
          >
            <option value="">any</option>
            {STATES.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
        </label>
        <label>
          Order
          <select
            value={given['order'] ?? ''}
            onChange={({ currentTarget }) => set('order', currentTarget.value)}
          >
            <option value="">newest first</option>
            <option value="asc">oldest first</option>
          </select>
        </label>
        <button type="submit" class="do main">
          Search
        </button>
        <a class="button" href="#/search">
          Clear
        </a>
      </form>
    </details>
  )
}

function Results({ session, query }: { session: Session; query: URLSearchParams }) {
  const { text = '', ...filters } = Object.fromEntries(query)
  const [findings, setFindings] = useState<Findings | null>(null)
  const [isReading, setIsReading] = useState(true)
  const [error, setError] = useState<Error | null>(null)
  const reading = useRef<AbortController | null>(null)
  const read = async (from: Findings | null) => {
    const controller = new AbortController()
    reading.current = controller
    setIsReading(true)
    setError(null)
    const asked = { text, filters: filters as GetRecordsQuery }
    try {
      for await (const now of find(session.client, asked, from, controller.signal)) setFindings(now)
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure as Error)
    }
    if (!controller.signal.aborted) setIsReading(false)
  }
  useEffect(() => {
    read(null)
    return () => reading.current?.abort()
  }, [])
  if (findings === null) return error === null ? <p class="quiet">Loading…</p> : <Failure error={error} />
  const { found, next } = findings
  return (
    <section class="card">
      <h2>Records</h2>
      <p role="status" class="quiet">
        {text === '' ? (
          <>
            {count(found.length, 'record')}
            {next === null ? '.' : ', and there may be more.'}
          </>
        ) : (
          <Read findings={findings} isReading={isReading} isOldestFirst={filters['order'] === 'asc'} />
        )}
      </p>
      {found.length > 0 && (
        <Records
          caption="Records found"
          records={found.map(({ record }) => record)}
          session={session}
          more={text === '' ? [] : [{ name: 'Found in', cell: ({ id }) => <Where id={id} found={found} /> }]}
        />
      )}
      {error !== null && <Failure error={error} />}
      {isReading ? null : next !== null ? (
        <div class="row">
          <button type="button" class="do" onClick={() => read(findings)}>
            {text === '' ? 'Show more' : `Read ${SCAN_RECORDS_MAX.toLocaleString('en')} more`}
          </button>
        </div>
      ) : null}
      {!isReading && error === null && (
        <NextToTry session={session} text={text} filters={filters} found={found} />
      )}
    </section>
  )
}

function Where({ id, found }: { id: string; found: readonly FoundRecord[] }) {
  return <code>{found.find(({ record }) => record.id === id)?.where}</code>
}

/** Shows how many records were searched for a text, and which texts cannot be found. */
function Read({
  findings: { found, read, readTo, withoutPayload, next },
  isReading,
  isOldestFirst,
}: {
  findings: Findings
  isReading: boolean
  isOldestFirst: boolean
}) {
  return (
    <>
      {isReading && 'Reading… '}
      {count(found.length, 'record')} found, by {READ_MEMBERS} of{' '}
      {next === null && !isReading ? 'all' : isOldestFirst ? 'the oldest' : 'the newest'}{' '}
      {count(read, 'record')}
      {readTo !== null && next !== null && (
        <>
          {' '}
          ({isOldestFirst ? 'up to' : 'back to'} <Time at={readTo} />)
        </>
      )}
      , and by whole references and labels of persons of all records. Erased text
      {withoutPayload > 0 && ` (here the payload of ${count(withoutPayload, 'record')})`} and text of which
      only the digest is recorded cannot be found.
    </>
  )
}

/**
 * Suggests other searches, for example if the typed text was understood as the name of an agent, or if nothing was
 * found.
 */
function NextToTry({
  session: { names, ledger },
  text,
  filters,
  found,
}: {
  session: Session
  text: string
  filters: Readonly<Record<string, string>>
  found: readonly FoundRecord[]
}) {
  const { order, ...narrowing } = filters
  const narrowed = Object.keys(narrowing)
  const name = names.get(filters['actor'] ?? '')
  const ways: ComponentChildren[] = []
  if (name !== undefined && narrowed.length === 1 && text === '')
    ways.push(
      <>
        These are records of the agent {name}.{' '}
        <a href={linkTo('search', '', { text: name })}>Find “{name}” as text</a>
      </>,
    )
  if (found.filter(({ where }) => where === 'references').length >= PAGE_ROWS)
    ways.push(
      <a href={linkTo('search', '', { ...filters, reference: text })}>All records with this reference</a>,
    )
  if (found.length === 0) {
    if (narrowed.length > 0)
      ways.push(
        <a href={linkTo('search', '', { text, order })}>
          Search without {count(narrowed.length, 'filter')} ({narrowed.join(', ')})
        </a>,
      )
    if (text !== '') {
      const agents = [...names].filter(([, one]) => one.toLowerCase().includes(text.toLowerCase()))
      for (const [id, one] of agents)
        ways.push(<a href={linkTo('search', '', { actor: id })}>Records by the agent {one}</a>)
      ways.push(
        'Try fewer words, or part of a word: the whole text must match.',
        <>
          Or browse by time: <a href={linkTo('day')}>a day of all agents</a>
        </>,
      )
    }
    if (!ledger.key.scopes.includes('records:read'))
      ways.push('This key can only read records of its own agent.')
    if (text === '' && narrowed.length === 0) return <FirstRecord />
  }
  if (ways.length === 0) return null
  return (
    <>
      {found.length === 0 && <p>No record has this text. What to try next:</p>}
      <ul>
        {ways.map((way, i) => (
          <li key={`${i} ${narrowed}`}>{way}</li>
        ))}
      </ul>
    </>
  )
}
