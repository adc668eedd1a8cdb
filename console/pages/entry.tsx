import { Facts, Failure, Id, Json, Page, Section, Shown, Time } from '../parts/basics.tsx'
import { Envelope } from '../parts/envelope.tsx'
import { VerdictSection } from '../parts/verdict.tsx'
import { useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { keyOf } from '../trust.ts'

export function EntryPage({ session, seq: text }: { session: Session; seq: string }) {
  const seq = /^\d{1,15}$/.test(text) ? Number(text) : 0
  const asked = useQuery(
    async (signal) => {
      for await (const line of session.client.entries.stream({ after: seq - 1, limit: 1, signal }))
        return line
      throw new Error(`the ledger has no entry ${seq} yet`)
    },
    [seq],
  )
  return (
    <Page title={`Entry ${seq}`}>
      <Proof session={session} seq={seq} />
      <Shown of={asked}>
        {({ kind, recordedAt, leaf, chain, envelope, documents, items, signer }) => (
          <>
            <Section title="Entry">
              <Facts
                facts={[
                  ['Kind', <strong key="kind">{kind}</strong>],
                  ['Recorded', <Time key="time" at={recordedAt} />],
                  ['Signed by', signer ? 'the agent itself' : 'the server'],
                  ['Leaf', <Id key="leaf" id={leaf} />],
                  ['Chain', <Id key="chain" id={chain} />],
                ]}
              />
              <Envelope envelope={envelope} label={`${kind}, entry ${seq}`} />
            </Section>
            {documents.length > 0 && (
              <Section title={items === null ? 'Documents' : `Records of the batch: ${items.length}`}>
                {documents.map(({ subject, digest, document, erasedBy }) => (
                  <div key={subject}>
                    <h3>
                      {subject.startsWith('rec_') ? (
                        <a href={linkTo('record', subject.split('/')[0]!)}>{subject}</a>
                      ) : (
                        subject
                      )}
                    </h3>
                    <p class="quiet">
                      digest <code>{digest}</code>
                    </p>
                    {document !== null && <Json value={document} label={`Document of ${subject}`} />}
                    {erasedBy !== null && (
                      <p>
                        Erased by <a href={linkTo('entry', `${erasedBy}`)}>entry {erasedBy}</a>.
                      </p>
                    )}
                  </div>
                ))}
              </Section>
            )}
          </>
        )}
      </Shown>
    </Page>
  )
}

function Proof({ session: { client, ledger }, seq }: { session: Session; seq: number }) {
  const asked = useQuery(
    async (signal) => {
      const { verifyEntry } = await import('../verifier.ts')
      return verifyEntry(() => client.entries.proof(seq, {}, { signal }), keyOf(ledger))
    },
    [seq],
  )
  if (asked.error !== null) return <Failure error={asked.error} />
  if (asked.data === null) return <p class="quiet">Verifying in this browser…</p>
  return <VerdictSection verdict={asked.data} />
}
