import type { LedgerRecord } from './generated/api.ts'
import type { BuiltInTypes } from './generated/built-in-types.ts'

/**
 * Payload and evidence types of each record type, for the TypeScript compiler.
 *
 *     new Tallystick<{ 'order/1': { payload: Order; evidence: Delivery } }>()
 *
 * The server checks payloads against the registered schema in any case.
 */
export type TypeMap = { readonly [name: string]: { readonly payload: object; readonly evidence?: object } }

/** Default type map. It permits any payload. */
export type AnyTypes = {
  readonly [name: `${string}/${number}`]: { readonly payload: object; readonly evidence?: object }
}

type All<Types extends TypeMap> = Types & BuiltInTypes

export type TypeName<Types extends TypeMap> = keyof All<Types> & string
export type PayloadOf<Types extends TypeMap, Name extends TypeName<Types>> = All<Types>[Name]['payload']
export type EvidenceOf<Types extends TypeMap, Name extends TypeName<Types>> = All<Types>[Name] extends {
  readonly evidence?: infer Evidence extends object
}
  ? Evidence
  : object

/**
 * A record with a typed payload. The payload is null after erasure. If the payload may be any object, it has the
 * server's type.
 */
export type RecordOf<Payload extends object> = object extends Payload
  ? LedgerRecord
  : Omit<LedgerRecord, 'payload'> & { payload: Payload | null }
