import { join } from 'node:path'
import { CHART_DIR } from './command.ts'
import { type Helm, template } from './render.ts'

const LEAST = join(CHART_DIR, 'ci', 'default-values.yaml')

export const REFUSALS: readonly (readonly [values: string, message: RegExp])[] = [
  ['image.repository=', /image\.repository is not set: push the image/],
  ['publicUrl=', /publicUrl is not set: set the https:\/\/ address/],
  ['publicUrl=ledger.example', /\/publicUrl': 'ledger\.example' does not match/],
  ['masterKey.existingSecret=', /masterKey\.existingSecret is not set: make a Secret/],
  ['database.host=', /database\.host is not set/],
  ['database.host=postgres://db', /\/database\/host': 'postgres:\/\/db' does not match/],
  [
    'database.owner.existingSecret=',
    /database\.owner\.existingSecret is not set: set the name of the Secret/,
  ],
  ['database.api.existingSecret=', /database\.api\.existingSecret is not set: set the name of the Secret/],
  [
    'database.worker.existingSecret=',
    /database\.worker\.existingSecret is not set: set the name of the Secret/,
  ],
  ['database.sslMode=prefer', /\/database\/sslMode': value must be one of/],
  ['database.auth=iam', /database\.api\.existingSecret is set, but this login uses iam/],
  ['database.auth=iam', /database\.iam\.region is not set, and database\.host does not contain a region/],
  ['database.owner.auth=iam,database.sslMode=disable', /sslMode is disable, but iam needs TLS/],
  ['database.ca.existingSecret=a,database.ca.existingConfigMap=b', /remove one of them/],
  ['database.sslMode=verify-ca', /verify-ca, which needs a certificate authority/],
  [
    'database.host=db.example:6432',
    /database\.host is db\.example:6432, a host with a port: set the port in database\.port/,
  ],
  ['database.owner.host=db:1', /database\.owner\.host is db:1, a host with a port/],
  [
    'database.replica.host=fd00:::5',
    /database\.replica\.host is fd00:::5, which is neither a host name nor an IP address/,
  ],
  ['database.host=10.0.0.256', /database\.host is 10\.0\.0\.256, which is neither/],
  [
    'ingress.enabled=true,publicUrl=https://[2001:db8::1]',
    /publicUrl is .* not a DNS name, and ingress\.hosts is empty/,
  ],
  [
    'gateway.enabled=true,gateway.parentRefs[0].name=g,publicUrl=https://10.0.0.1',
    /publicUrl is .* not a DNS name, and gateway\.hostnames is empty/,
  ],
  ['publicUrl=https://user:pass@ledger.example', /\/publicUrl': .* does not match/],
  [
    'worker.replicas=2,worker.persistence.enabled=false',
    /worker\.persistence is not enabled: each worker would store its own/,
  ],
  [
    'archive.url=s3://b,archive.keepDays=30,archive.lock.days=7',
    /archive\.lock\.days is 7, but archive\.keepDays is 30/,
  ],
  [
    'worker.autoscaling.enabled=true,worker.autoscaling.type=hpa,worker.autoscaling.metrics[0].name=tallystick_completions_waiting,worker.autoscaling.metrics[0].query=a,worker.autoscaling.metrics[0].perWorker=1',
    /names tallystick_completions_waiting, but each worker reports the same total.* tallystick:completions_waiting:max/,
  ],
  ['fullnameOverride=a-name-that-is-longer-than-forty-characters', /\/fullnameOverride': .* does not match/],
  ['nameOverride=9ledger', /\/nameOverride': .* does not match/],
  ['image.repository=registry.example/tallystick:1.0', /\/image\/repository': .* does not match/],
  ['database=null', /missing property 'database'/],
  ['logLevel=null', /missing property 'logLevel'/],
  ['extraObjects[0]=text', /extraObjects has a text that is not an object/],
  [
    'worker.replicas=2',
    /worker\.replicas is 2, but with worker\.persistence\.accessMode ReadWriteOnce only one worker can write/,
  ],
  [
    'worker.autoscaling.enabled=true',
    /worker\.autoscaling is enabled, but .* ReadWriteOnce only one worker can write/,
  ],
  ['worker.autoscaling.enabled=true', /keda\.serverAddress is not set/],
  ['worker.autoscaling.enabled=true,worker.persistence.enabled=false', /would know no checkpoint/],
  [
    'worker.autoscaling.enabled=true,worker.autoscaling.minReplicas=9',
    /worker\.autoscaling\.minReplicas is more than maxReplicas/,
  ],
  [
    'api.autoscaling.enabled=true,api.autoscaling.minReplicas=9',
    /api\.autoscaling\.minReplicas is more than maxReplicas/,
  ],
  [
    'api.autoscaling.enabled=true,api.resources.requests.cpu=null',
    /api\.resources\.requests\.cpu is not set/,
  ],
  [
    'metrics.prometheusRule.disabled[0]=TallystickNone',
    /disabled names TallystickNone, which is not an alert/,
  ],
  [
    'extraEnv[0].name=TALLYSTICK_PORT,extraEnv[0].value=x',
    /TALLYSTICK_PORT is twice in the environment of api: the chart sets it/,
  ],
  [
    'extraEnv[0].name=A,api.extraEnv[0].name=A',
    /A is twice in the environment of api: extraEnv names it twice/,
  ],
  ['gateway.enabled=true', /gateway\.parentRefs is empty: add the Gateway/],
  [
    'gateway.enabled=true,gateway.isDefault=false,gateway.parentRefs[0].name=g',
    /gateway\.deployment is not set: with several/,
  ],
  [
    'gateway.enabled=true,gateway.ledgers[0]=led_01kd2m3n4p5q6r7s8t9v0w1x2y',
    /gateway\.ledgers is only for a deployment that is not the default/,
  ],
  ['gateway.ledgers[0]=led_x', /\/gateway\/ledgers\/0': 'led_x' does not match/],
  ['topologySpreadWhenUnsatisfiable=Never', /topologySpreadWhenUnsatisfiable': value must be one of/],
  ['api.replicaCount=3', /\/api': additional properties 'replicaCount' not allowed/],
  ['api.replicas=many', /\/api\/replicas': got string, want integer/],
  ['image.digest=sha256:abc', /\/image\/digest': 'sha256:abc' does not match/],
  ['outboundAllow[0]=receiver.example', /\/outboundAllow\/0': 'receiver\.example' does not match/],
  ['migrate.mode=Hook', /\/migrate\/mode': value must be one of 'hook', 'job', 'none'/],
]

/** Returns wrong values that are accepted, or refused without the expected message. */
export async function findLenience(helm: Helm, kubernetesVersion: string): Promise<string[]> {
  const faults: string[] = []
  for (const [values, message] of REFUSALS) {
    const set = ['--values', LEAST, '--set', values]
    const { code, stderr } = await template(helm, kubernetesVersion, set)
    if (code === 0) faults.push(`${values}: is taken`)
    else if (!message.test(stderr)) faults.push(`${values}: is refused without ${message}:\n${stderr.trim()}`)
  }
  return faults
}
