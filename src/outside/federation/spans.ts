import { failSpan } from '../../observe/tracing/fail-span.ts'
import type { Tracing } from '../../observe/tracing/tracing.ts'
import { formatId } from '../../proof/ids.ts'
import type { PostTracer } from './peer-sender.ts'

/**
 * Makes a tracer. Each request to a peer is a span below the job's span. A request carries many entries, so its span
 * belongs to none of the entries' traces.
 */
export function makePostTracer(tracing: Tracing): PostTracer {
  return (peer, path) => {
    const url = URL.parse(peer.remoteUrl)
    const span = tracing.start(`POST ${path}`, {
      kind: 'client',
      parent: tracing.current?.spanContext() ?? null,
      attributes: {
        'http.request.method': 'POST',
        'url.path': path,
        'server.address': url?.hostname ?? '',
        'server.port': Number(url?.port) || (url?.protocol === 'http:' ? 80 : 443),
        'tallystick.ledger.id': formatId('led', peer.ledgerId),
        'tallystick.peer.id': formatId('peer', peer.peerId),
      },
    })
    return span && ((failure) => (failure === null ? span : failSpan(span, failure)).end())
  }
}
