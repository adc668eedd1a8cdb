import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type TypesQuery = Omit<api.GetTypesQuery, 'cursor'>
export type TypeDefinition = api.PostTypesBody
export type TypeSummary = api.GetTypesAnswer['data'][number]
/** Documents to look at. */
export type Documents = api.PostTypesByNameByVersionPreviewBody
export type Preview = api.PostTypesByNameByVersionPreviewAnswer

/** Types: schemas of records, and rules by which deliveries are judged. */
export class RecordTypes {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/types`: for good; a definition that is registered already is answered again. */
  register(definition: TypeDefinition, options?: WriteOptions): Promise<api.RecordType> {
    return this.#http.json(operations.postTypes, { body: definition, options })
  }

  /** `GET /v1/types`: in the order of their names, those of every ledger among them. */
  list(query: TypesQuery = {}, options?: CallOptions): Listing<TypeSummary> {
    return this.#http.list(operations.getTypes, { query, options })
  }

  /** `GET /v1/types/{name}/{version}`: `get('order/1')`. */
  async get(type: string, options?: CallOptions): Promise<api.RecordType> {
    return this.#http.json(operations.getTypesByNameByVersion, { params: splitType(type), options })
  }

  /** `POST /v1/types/{name}/{version}/preview`: judges a payload or evidence by the type; writes nothing. */
  async preview(type: string, documents: Documents, options?: CallOptions): Promise<Preview> {
    return this.#http.json(operations.postTypesByNameByVersionPreview, {
      params: splitType(type),
      body: documents,
      options,
    })
  }

  /** `POST /v1/types/preview`: the same of a definition that is not registered. */
  previewDefinition(
    definition: TypeDefinition,
    documents: Documents = {},
    options?: CallOptions,
  ): Promise<Preview> {
    return this.#http.json(operations.postTypesPreview, { body: { ...definition, ...documents }, options })
  }
}

function splitType(type: string): { name: string; version: string } {
  const [name, version, ...more] = type.split('/')
  if (!name || !version || more.length > 0)
    throw new UsageError(`${JSON.stringify(type)} is no type: it has a name and a version, such as order/1`)
  return { name, version }
}
