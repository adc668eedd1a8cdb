import type { FastifyInstance } from 'fastify'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { eraseSubject, findSubject, type SubjectPosition } from '../../records/subjects/subjects.ts'
import { formatCursor, type ListTag, listTag, parseCursor } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import {
  eraseSubjectBody,
  findSubjectBody,
  subjectCursor,
  subjectPage,
  subjectReceipt,
} from '../schemas/subjects.ts'
import type { ZodTypes } from '../zod-validation.ts'

const ERASE = { scope: scopeOfEntry('subject-erased') } as const
const FIND = { scope: ['payloads:erase', 'records:read'] } as const

/**
 * Finds and erases all documents about a person, by the label with which they were recorded
 * (docs/guides/erasure-and-retention.md).
 */
export function subjectRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/subjects/find',
    {
      config: { access: FIND },
      schema: {
        summary: 'Find the documents of a person by label, oldest first',
        body: findSubjectBody,
        response: { 200: subjectPage },
      },
    },
    async (request) => {
      const list = listTag(request)
      const { subject, ...query } = request.body
      const { data, next } = await findSubject(deps, request.caller, subject, positionOf(list, query))
      return { data, nextCursor: cursorOf(list, next) }
    },
  )

  typed.post(
    '/v1/subjects/erase',
    {
      config: { access: ERASE, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Erase documents of a person for good, as many as one receipt can name',
        body: eraseSubjectBody,
        response: { 200: subjectReceipt },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { subject: label, code, reason = null, ...query } = request.body
      const list = listTag(request)
      const after = positionOf(list, query)
      const wanted = { label, code, reason, ...(after && { after }) }
      const { seq, erased, held, next } = await eraseSubject(deps, request.caller, wanted)
      return { entry: { seq }, erased: [...erased], held: [...held], nextCursor: cursorOf(list, next) }
    },
  )
}

function positionOf(
  list: ListTag,
  query: { readonly cursor?: string | undefined },
): SubjectPosition | undefined {
  const cursor = parseCursor(list, query, subjectCursor)
  return cursor ? { seq: cursor[0], index: cursor[1] } : undefined
}

function cursorOf(list: ListTag, next: SubjectPosition | null): string | null {
  return next && formatCursor(list, [next.seq, next.index])
}
