import { useEffect, useState } from 'preact/hooks'
import type { GetRecordsQuery, LedgerRecord } from '../../sdk/generated/api.ts'
import { useAct } from '../asking.ts'
import { PAGE_ROWS, SCAN_RECORDS_MAX, SCAN_ROWS } from '../limits.ts'
import { go } from '../navigate.ts'
import { count, Failure, Page } from '../parts/basics.tsx'
import { Records } from '../parts/records.tsx'
import { placeOf } from '../places.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'

/** Filters of `GET /v1/records`, with what they are called here. */
const FILTERS = [
  ['type', 'Type, as agent-action/1'],
  ['actor', 'By agent'],
  ['onBehalfOf', 'On behalf of'],
  ['performer', 'Performer'],
  ['principal', 'Principal'],
  ['parent', 'Parent'],
  ['reference', 'Reference'],
  ['traceId', 'Trace id'],
  ['recordedAfter', 'Recorded at or after (UTC)'],
  ['recordedBefore', 'Recorded before (UTC)'],
] as const
const STATES =
  'RECORDED CREATED ACTIVE SUBMITTED VERIFIED DISCREPANT ACCEPTED REJECTED CANCELLED EXPIRED'.split(' ')

type Found = {
  readonly records: readonly LedgerRecord[]
  readonly next: string | null
  readonly looked: number
}

/** One box for whatever a reader has in hand, and filters that are the address. */
export function SearchPage({ session, query }: { session: Session; query: URLSearchParams }) {
  return (
    <Page title="Search">
      <Box session={session} />
      <FilterForm key={`${query}`} query={query} />
      <Results key={`r ${query}`} session={session} query={query} />
    </Page>
  )
}

function Box({ session }: { session: Session }) {
  const [text, setText] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    if (text.trim() !== '') go(placeOf(text.trim(), session.names))
  }
  return (
    <search>
      <form onSubmit={submit}>
        <label class="wide">
          An id, the seq of an entry, a trace, a reference, or the name of an agent
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
  const isOpen = [...query.keys()].some((name) => name !== 'contains')
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
          Payload contains (looked for here)
          <input
            value={given['contains'] ?? ''}
            onInput={({ currentTarget }) => set('contains', currentTarget.value)}
          />
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
  const [found, setFound] = useState<Found | null>(null)
  const { isBusy, error, act } = useAct()
  const read = (from: Found | null) => act(async () => setFound(await readOn(session, query, from)))
  useEffect(() => {
    read(null)
  }, [])
  if (found === null) return error === null ? <p class="quiet">Loading…</p> : <Failure error={error} />
  const { records, next, looked } = found
  return (
    <section class="card">
      <h2>Records</h2>
      <p role="status" class="quiet">
        {count(records.length, 'record')}
        {looked > records.length && ` in ${looked.toLocaleString('en')} looked at`}
        {next === null ? '.' : ', and more may follow.'}
      </p>
      <Records caption="Records found" records={records} session={session} empty="No record." />
      {error !== null && <Failure error={error} />}
      {next !== null && (
        <div class="row">
          <button type="button" class="do" disabled={isBusy} onClick={() => read(found)}>
            Show more
          </button>
        </div>
      )}
    </section>
  )
}

/** One page more; with a text to look for, as many as it takes to find a page of records, within bounds. */
async function readOn({ client }: Session, query: URLSearchParams, from: Found | null): Promise<Found> {
  const { contains = '', ...filters } = Object.fromEntries(query)
  const limit = contains === '' ? PAGE_ROWS : SCAN_ROWS
  const list = client.records.list({ ...(filters as GetRecordsQuery), limit })
  const records = [...(from?.records ?? [])]
  const enough = records.length + PAGE_ROWS
  let next = from?.next ?? null
  let looked = from?.looked ?? 0
  const end = looked + SCAN_RECORDS_MAX
  do {
    const page = await list.page(next ?? undefined)
    looked += page.data.length
    records.push(...page.data.filter((record) => JSON.stringify(record.payload)?.includes(contains)))
    next = page.nextCursor
  } while (next !== null && records.length < enough && looked < end)
  return { records, next, looked }
}
