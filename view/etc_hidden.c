#include "view/etc_hidden.h"

#include <fnmatch.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

const char *const etc_hidden_names[] = {
	/* passwords and who may become whom */
	"shadow",
	"shadow-",
	"shadow+",
	"gshadow",
	"gshadow-",
	"gshadow+",
	"nshadow",
	"passwd-",
	"group-",
	"subuid-",
	"subgid-",
	"tcb",
	"security/opasswd",
	"security/nopasswd",
	"sudoers",
	"sudoers-",
	"sudoers.d",
	"sudoers.dist",
	"sudo.conf",
	"sudo-ldap.conf",
	"sudo_logsrvd.conf",
	"doas.conf",
	"doas.d",
	"polkit-1/localauthority",
	"polkit-1/rules.d",
	/* isod's own */
	"isod",
	/* directories, Kerberos */
	"krb5.keytab",
	"krb5kdc",
	"ldap.secret",
	"libnss-ldap.conf",
	"libnss-ldap.secret",
	"nslcd.conf",
	"nss-mysql-root.cfg",
	"libnss-mysql-root.cfg",
	"nss-pgsql-root.conf",
	"pam_ldap.conf",
	"pam_ldap.secret",
	"sasldb2",
	"sssd",
	"samba/private",
	"samba/smbpasswd",
	"ldap/slapd.d",
	"openldap/slapd.conf",
	"openldap/slapd.d",
	"freeradius",
	"raddb",
	/* keys of hosts and services */
	"ssh/ssh_host_dsa_key",
	"ssh/ssh_host_ecdsa_key",
	"ssh/ssh_host_ed25519_key",
	"ssh/ssh_host_key",
	"ssh/ssh_host_rsa_key",
	"ssh/ssh_host_xmss_key",
	"dropbear",
	"dropbear-initramfs",
	"ssl/private",
	"pki/CA/private",
	"pki/consumer",
	"pki/entitlement",
	"pki/nssdb",
	"pki/private",
	"pki/tls/private",
	"letsencrypt",
	"acme",
	"acme.sh",
	"dehydrated",
	"lego",
	"credstore",
	"credstore.encrypted",
	"systemd/credential.secret",
	/* networks */
	"NetworkManager/system-connections",
	"chatscripts",
	"connman",
	"hostapd",
	"ipsec.d",
	"ipsec.secrets",
	"netctl",
	"netplan",
	"network/interfaces",
	"network/interfaces.d",
	"nebula",
	"ocserv",
	"openvpn",
	"ppp/chap-secrets",
	"ppp/pap-secrets",
	"ppp/peers",
	"ppp/srp-secrets",
	"racoon",
	"swanctl",
	"tinc",
	"vpnc",
	"wireguard",
	"wpa_supplicant",
	"wpa_supplicant.conf",
	"xl2tpd",
	"cloudflared",
	"ddclient.conf",
	"inadyn.conf",
	"frp",
	"tailscale",
	"zerotier-one",
	/* disks and shares */
	"crypttab",
	"cryptsetup-initramfs",
	"cryptsetup-keys.d",
	"luks",
	"ceph",
	"cifs-credentials",
	"davfs2",
	"iscsi",
	"open-iscsi",
	"passwd-s3fs",
	"s3fs",
	"smbcredentials",
	"drbd.d",
	"corosync",
	"pacemaker",
	"keepalived",
	/* containers and clouds */
	"docker",
	"containerd",
	"containers/auth.json",
	"cni",
	"crio",
	"kubernetes",
	"rancher",
	"rke2",
	"origin",
	"consul.d",
	"etcd",
	"nomad.d",
	"vault.d",
	"boto.cfg",
	"cloud",
	"waagent.conf",
	"teleport.yaml",
	"gitlab",
	"gitlab-runner",
	"gitea",
	"forgejo",
	"chef",
	"puppet",
	"puppetlabs",
	"salt",
	"rhsm",
	/* packages */
	"apt/auth.conf",
	"apt/auth.conf.d",
	"zypp/credentials.d",
	/* mail, print, databases, servers */
	"bind/rndc.key",
	"cups/passwd.md5",
	"cups/printers.conf",
	"cups/ssl",
	"cups/subscriptions.conf",
	"dovecot/private",
	"exim4/passwd.client",
	"fetchmailrc",
	"msmtprc",
	"mysql/debian.cnf",
	"nullmailer",
	"opendkim",
	"postfix/sasl",
	"postfix/sasl_passwd",
	"postfix/sasl_passwd.db",
	"snmp/snmpd.conf",
	"ssmtp",
	"pgbouncer",
	"mosquitto",
	"asterisk",
	"powerdns",
	"rndc.key",
	"chrony/chrony.keys",
	"chrony.keys",
	"ntp.keys",
	"rsyncd.secrets",
	"rclone",
	"restic",
	"borgmatic",
	"bacula",
	"bareos",
	"proftpd",
	"pure-ftpd",
	"nut",
	"xrdp",
	"zabbix",
	"machine-info",
};
const size_t n_etc_hidden_names = ARRAY_SIZE(etc_hidden_names);

/* What is found only where it exists when the layer is made; later it is kept away by its mode. FNM_PATHNAME. */
static const char *const patterns[] = {
	"krb5.keytab*",
	"ppp/*-secrets",
	"ssh/ssh_host_*_key",
	"*/.htpasswd",
};

bool etc_hidden_is(const char *path)
{
	for (size_t i = 0; i < n_etc_hidden_names; i++)
		if (strcmp(etc_hidden_names[i], path) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		if (fnmatch(patterns[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

bool etc_hidden_holds(const char *path)
{
	char part[LIMIT_PATH];
	size_t len;

	if (strncmp(path, "/etc/", 5) != 0 || strlen(path + 5) >= sizeof(part))
		return false;
	path += 5;
	for (len = strcspn(path, "/"); len > 0; len += 1 + strcspn(path + len + 1, "/")) {
		memcpy(part, path, len);
		part[len] = '\0';
		if (etc_hidden_is(part))
			return true;
		if (path[len] == '\0')
			break;
	}
	return false;
}
