import { setGlobalProxyFromEnv } from 'node:http'

/**
 * Makes `fetch` and `node:http` ignore NODE_USE_ENV_PROXY and HTTP_PROXY. A proxy would see the operator's key in clear
 * text, and cannot reach the loopback address of this machine. MUST be called before the process's first request.
 */
export function connectDirectly(): void {
  // An address is required, because without an address Node uses the proxies of the environment. `no_proxy` excludes
  // all hosts, so no request goes to this address.
  setGlobalProxyFromEnv({
    http_proxy: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    no_proxy: '*',
  })
}
