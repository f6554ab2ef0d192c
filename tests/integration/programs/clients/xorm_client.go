// xorm, an ORM that knows the tables of MySQL's own engines alone: the session
// says that heapwire's are such.  Prints what it finds of nodes.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	"xorm.io/xorm"
)

func main() {
	source := os.Getenv("HW_USER") + ":" + os.Getenv("HW_PASSWORD") +
		"@tcp(127.0.0.1:" + os.Getenv("HW_PORT") + ")/heapwire"
	for _, options := range []string{"", "?default_storage_engine=InnoDB"} {
		engine, err := xorm.NewEngine("mysql", source+options)
		if err != nil {
			log.Fatal(err)
		}
		tables, err := engine.DBMetas()
		if err != nil {
			log.Fatal(err)
		}
		found := "no tables"
		for _, table := range tables {
			if table.Name == "nodes" {
				found = fmt.Sprint(table.StoreEngine, " ",
					strings.Join(table.PrimaryKeys, ","))
			}
		}
		fmt.Println(found)
		engine.Close()
	}
}
