// go-sql-driver: whatever has arguments is prepared.
package main

import (
	"crypto/md5"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"log"
	"os"

	"github.com/go-sql-driver/mysql"
)

const has = "System.print(HeapProf.getInstance().has_enable())"

func first(db *sql.DB, text string, values ...interface{}) string {
	var out string
	if err := db.QueryRow(text, values...).Scan(&out); err != nil {
		log.Fatal(text, ": ", err)
	}
	return out
}

func run(way, address string) {
	account := os.Getenv("HW_USER") + ":" + os.Getenv("HW_PASSWORD")
	db, err := sql.Open("mysql", account+"@"+address)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		log.Fatal(err)
	}
	if way == "tls" {
		var name, cipher string
		if err := db.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher); err != nil || cipher == "" {
			log.Fatal("no cipher: ", err)
		}
	}
	fmt.Println(way, "has_enable", first(db, "ADMIN EXECUTE ON 10001 '"+has+"'"))
	script := `System.print(HeapProf.getInstance().to_dot_format("` + os.Getenv("HW_SNAPSHOT") + `"))`
	rows, err := db.Query("ADMIN EXECUTE ON 10001 ?", script)
	if err != nil {
		log.Fatal(err)
	}
	dot := md5.New()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(dot, line)
	}
	if rows.Err() != nil {
		log.Fatal(rows.Err())
	}
	fmt.Printf("%s dot %x\n", way, dot.Sum(nil))
	var id int64
	var text string
	row := db.QueryRow("SELECT id, ? FROM heapwire.nodes WHERE id = ?", "ä'\"\\", 10001)
	if err := row.Scan(&id, &text); err != nil {
		log.Fatal(err)
	}
	fmt.Println(way, "parameter", id, text)
	fmt.Println(way, "admin", first(db, "ADMIN EXECUTE ON ? ?", 10001, has))
	_, err = db.Exec("ADMIN EXECUTE ON 10001 'System.print(nonsense)'")
	problem, ok := err.(*mysql.MySQLError)
	if !ok {
		log.Fatal("a wrong script: ", err)
	}
	fmt.Println(way, "error", problem.Number)
	fmt.Println(way, "after", first(db, "SELECT 1"))
}

func main() {
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(os.Getenv("HW_CA"))
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		log.Fatal("no certificate: ", err)
	}
	mysql.RegisterTLSConfig("node", &tls.Config{RootCAs: roots, InsecureSkipVerify: true})
	tcp := "tcp(127.0.0.1:" + os.Getenv("HW_PORT") + ")/"
	run("tcp", tcp)
	run("tls", tcp+"?tls=node")
	run("socket", "unix("+os.Getenv("HW_SOCKET")+")/")
}
